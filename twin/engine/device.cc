#include "twin/engine/device.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/check.h"

namespace evk::twin {
namespace {

// Every number that a device file must give.
const std::set<std::string>& required() {
  static const std::set<std::string> names = {"core.clock_ghz",
                                              "core.aiv_cores",
                                              "core.aic_cores",
                                              "memory.ub_bytes",
                                              "memory.ub_usable_bytes",
                                              "memory.l1_bytes",
                                              "memory.l0a_bytes",
                                              "memory.l0b_bytes",
                                              "memory.l0c_bytes",
                                              "memory.bt_bytes",
                                              "memory.fb_bytes",
                                              "memory.l2_bytes",
                                              "v.head_cycles",
                                              "v.simple_cycles_per_repeat",
                                              "v.three_source_cycles_per_repeat",
                                              "v.tail_cycles",
                                              "v.mask_cycles",
                                              "v.divide_head_cycles",
                                              "v.divide_cycles_per_repeat",
                                              "v.divide_half_cycles_per_repeat",
                                              "v.exp_head_cycles",
                                              "v.ln_head_cycles",
                                              "v.sqrt_head_cycles",
                                              "v.transcendental_cycles_per_repeat",
                                              "v.rsqrt_head_cycles",
                                              "v.rsqrt_cycles_per_repeat",
                                              "v.transcendental_half_factor",
                                              "v.compare_head_cycles",
                                              "v.select_head_cycles",
                                              "v.compare_cycles_per_repeat",
                                              "v.whole_reduce_head_cycles",
                                              "v.whole_reduce_cycles_per_repeat",
                                              "v.block_reduce_head_cycles",
                                              "v.block_reduce_cycles_per_repeat",
                                              "v.gather_cycles_per_repeat",
                                              "v.gather_mask_head_cycles",
                                              "v.gather_mask_cycles_per_repeat",
                                              "v.bank_read_read_cycles",
                                              "v.bank_read_write_cycles",
                                              "v.bank_broadcast_cycles",
                                              "mte2.issue_cycles",
                                              "mte2.latency_cycles",
                                              "mte2.bytes_per_cycle",
                                              "mte2.cached_bytes_per_cycle",
                                              "mte2.row_cycles",
                                              "mte2.cube_bytes_per_cycle",
                                              "mte2.cube_cached_bytes_per_cycle",
                                              "m.head_cycles",
                                              "mte1.head_cycles",
                                              "mte1.l0a_bytes_per_cycle",
                                              "mte1.l0b_bytes_per_cycle",
                                              "mte1.bt_bytes_per_cycle",
                                              "fix.head_cycles",
                                              "fix.elements_per_cycle",
                                              "fix.bytes_per_cycle",
                                              "s.cross_flag_cycles",
                                              "mte3.issue_cycles",
                                              "mte3.latency_cycles",
                                              "mte3.bytes_per_cycle",
                                              "gm.total_bytes_per_cycle",
                                              "gm.hbm_bytes_per_cycle",
                                              "gm.read_bytes_per_cycle",
                                              "gm.write_bytes_per_cycle",
                                              "gm.sector_bytes",
                                              "gm.line_bytes",
                                              "s.issue_cycles",
                                              "s.block_cycles",
                                              "s.queue_cycles",
                                              "s.ub_load_cycles",
                                              "s.ub_store_cycles",
                                              "s.gm_hit_cycles",
                                              "s.gm_miss_cycles",
                                              "s.flag_cycles",
                                              "launch.base_ns",
                                              "launch.per_block_ns",
                                              "launch.block_start_cycles",
                                              "launch.sync_all_cycles"};
  return names;
}

Result<double> number_of(const toml::node& node, const std::string& path, const std::string& key) {
  const toml::table* entry = node.as_table();
  if (!entry)
    return failure(
        fmt::format("{}: {}: write it as {{ value = ..., source = ..., confidence = ... }}", path, key));
  const auto value = (*entry)["value"].value<double>();
  const auto source = (*entry)["source"].value<std::string>();
  const auto confidence = (*entry)["confidence"].value<std::string>();
  if (!value || *value < 0)
    return failure(fmt::format("{}: {}: value must be a number of at least 0", path, key));
  if (!source || source->empty()) return failure(fmt::format("{}: {}: has no source", path, key));
  if (!confidence) return failure(fmt::format("{}: {}: has no confidence", path, key));
  return *value;
}

Status read_section(const std::string& section, const toml::table& table, const std::string& path,
                    Device& device) {
  for (const auto& [name, node] : table) {
    const std::string key = fmt::format("{}.{}", section, name.str());
    if (!required().contains(key)) return failure(fmt::format("{}: unknown key '{}'", path, key));
    EVK_TRY(device.number[key], number_of(node, path, key));
  }
  return {};
}

Status take_fields(const std::string& path, Device& d) {
  for (const auto& key : required())
    if (!d.number.contains(key)) return failure(fmt::format("{}: key '{}' is missing", path, key));
  const auto bytes = [&](const char* key) { return static_cast<std::uint32_t>(d.number.at(key)); };
  d.clock_ghz = d.number.at("core.clock_ghz");
  d.aiv_cores = static_cast<int>(d.number.at("core.aiv_cores"));
  d.aic_cores = static_cast<int>(d.number.at("core.aic_cores"));
  d.ub_bytes = bytes("memory.ub_bytes");
  d.ub_usable_bytes = bytes("memory.ub_usable_bytes");
  d.l1_bytes = bytes("memory.l1_bytes");
  d.l0a_bytes = bytes("memory.l0a_bytes");
  d.l0b_bytes = bytes("memory.l0b_bytes");
  d.l0c_bytes = bytes("memory.l0c_bytes");
  d.bt_bytes = bytes("memory.bt_bytes");
  if (d.clock_ghz <= 0 || d.aiv_cores < 1 || d.ub_bytes < 1024)
    return failure(fmt::format("{}: sizes of [core] or [memory] make no device", path));
  return {};
}

}  // namespace

double Device::at(const std::string& dotted) const {
  const auto found = number.find(dotted);
  EVK_CHECK(found != number.end(), "device {} has no {}", name, dotted);
  return found->second;
}

Result<Device> load_device(const std::string& path) {
  Device device;
  try {
    const toml::table root = toml::parse_file(path);
    for (const auto& [name, node] : root) {
      if (name == "name" || name == "soc") {
        const auto text = node.value<std::string>();
        if (!text) return failure(fmt::format("{}: {} must be a text", path, name.str()));
        (name == "name" ? device.name : device.soc) = *text;
      } else if (const toml::table* section = node.as_table()) {
        EVK_TRY_STATUS(read_section(std::string(name.str()), *section, path, device));
      } else {
        return failure(fmt::format("{}: unknown key '{}'", path, name.str()));
      }
    }
  } catch (const toml::parse_error& e) {
    return failure(fmt::format("{}:{}: {}", path, e.source().begin.line, std::string(e.description())));
  }
  EVK_TRY_STATUS(take_fields(path, device));
  return device;
}

Result<Device> find_device(const std::string& dir, const std::string& name) {
  std::vector<std::string> known;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error))
    if (entry.path().extension() == ".toml") known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  if (std::find(known.begin(), known.end(), name) != known.end())
    return load_device(dir + "/" + name + ".toml");
  std::string list;
  for (const auto& k : known) list += (list.empty() ? "" : ", ") + k;
  return failure(fmt::format("no device '{}' in {}; there are: {}", name, dir, list.empty() ? "none" : list),
                 Retry::kAfterFix);
}

}  // namespace evk::twin
