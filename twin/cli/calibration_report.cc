#include "twin/cli/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace evk::twin {
namespace {

nlohmann::json json_of(const CalibrationRow& r) {
  nlohmann::json j = {{"group", r.group},         {"name", r.name},           {"device", r.device},
                      {"unit", r.unit},           {"published", r.published}, {"tolerance", r.tolerance},
                      {"covered", !!r.simulated}, {"reason", r.reason}};
  if (r.simulated)
    j.update({{"simulated", *r.simulated}, {"deviation", r.deviation()}, {"within", !r.misses()}});
  return j;
}

void show(const CalibrationRow& r) {
  fmt::print("{:<12} {} {:<42} {:<6} {:>10.2f} ", r.device, r.group, r.name, r.unit, r.published);
  if (!r.simulated) return fmt::print("not covered: {}\n", r.reason);
  fmt::print("{:>10.2f} {:>+7.1f} % (of {:.0f} %){}\n", *r.simulated, 100 * r.deviation(), 100 * r.tolerance,
             r.misses() ? "  OFF" : "");
}

}  // namespace

bool report_calibration(const std::vector<CalibrationRow>& rows, bool json) {
  const auto count = [&](auto what) { return std::count_if(rows.begin(), rows.end(), what); };
  const auto off = count([](const auto&r) { return r.misses(); }),
             covered = count([](const auto&r) { return r.simulated.has_value(); });
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& r : rows) list.push_back(json_of(r));
    fmt::print("{}\n",
               nlohmann::json{{"schema", 1}, {"rows", list}, {"covered", covered}, {"off", off}}.dump(2));
    return off == 0;
  }
  fmt::print("{:<12} {} {:<42} {:<6} {:>10} {:>10}\n", "device", " ", "case", "unit", "published",
             "simulated");
  for (const auto& r : rows) show(r);
  fmt::print("{} rows, {} covered, {} off\n", rows.size(), covered, off);
  return off == 0;
}

}  // namespace evk::twin
