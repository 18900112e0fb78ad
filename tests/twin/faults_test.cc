// Each file of faults/ is the body of a kernel, sound and broken. Marks at the end of a line: "//-" it is in
// the sound one only, "//+" in the broken one only, "//! code" there the broken one's fault is found ("//+!
// code": and the line is in the broken one only), "//?" the earlier line that the finding names.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

struct Seeded {
  std::string name, sound, broken, code;
  int blocks = 1, line = 0, other = 0;
};

Seeded read(const std::filesystem::path& path) {
  Seeded seeded;
  seeded.name = path.stem();
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("// blocks: ")) seeded.blocks = std::stoi(line.substr(11));
    const auto at = line.find("  //");
    const std::string mark = at == std::string::npos ? "" : line.substr(at + 4);
    if (const auto code = mark.find("! "); code != std::string::npos) {
      seeded.code = mark.substr(code + 2);
      seeded.line = number;
    }
    if (mark == "?") seeded.other = number;
    seeded.sound += mark.starts_with("+") ? "\n" : line + "\n";
    seeded.broken += mark == "-" ? "\n" : line + "\n";
  }
  return seeded;
}

std::vector<Seeded> all_seeded() {
  std::vector<Seeded> all;
  for (const auto& entry : std::filesystem::directory_iterator(EVK_SOURCE_DIR "/tests/twin/faults"))
    all.push_back(read(entry.path()));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

class Faults : public KernelBench {
 protected:
  RunReport run_once(const std::string& so, Transport transport) {
    Launch launch;
    launch.op = "probe";
    launch.inputs = {floats("x", {1024}, ramp(1024))};
    launch.outputs = {empty("y", {1024})};
    return run(so, launch, transport);
  }

  void check(const std::vector<Seeded>& programs, int blocks, Transport transport) {
    for (const Seeded& seeded : programs) {
      if (seeded.blocks != blocks) continue;
      const auto place = "#line 1 \"" + seeded.name + "\"\n";
      for (const bool broken : {false, true}) {
        const auto so = build_kernel(place + (broken ? seeded.broken : seeded.sound), blocks);
        ASSERT_TRUE(so) << seeded.name << "\n" << so.error().text();
        judge(seeded, broken, run_once(*so, transport));
      }
    }
  }

  static void judge(const Seeded& seeded, bool broken, const RunReport& report) {
    std::vector<Finding> faults;
    for (const Finding& finding : report.findings)
      if (!finding.note) faults.push_back(finding);
    if (!broken) {
      EXPECT_TRUE(faults.empty()) << seeded.name << " (sound): " << faults[0].code << " line "
                                  << faults[0].line << ": " << faults[0].message;
      EXPECT_EQ(report.end, RunEnd::kComplete) << seeded.name;
      return;
    }
    const auto at =
        std::find_if(faults.begin(), faults.end(), [&](const Finding& f) { return f.code == seeded.code; });
    ASSERT_NE(at, faults.end()) << seeded.name << ": no " << seeded.code << " among " << faults.size()
                                << " faults" << (faults.empty() ? "" : ": " + faults[0].code);
    EXPECT_EQ(at->line, seeded.line) << seeded.name << ": " << at->message;
    EXPECT_EQ(seeded.other ? at->other_line : 0, seeded.other) << seeded.name << ": " << at->message;
    EXPECT_FALSE(at->remedy.empty()) << seeded.name;
  }
};

TEST_F(Faults, are_found_at_their_lines_and_only_there) {
  const auto programs = all_seeded();
  ASSERT_GE(programs.size(), 25u);
  for (const int blocks : {1, 4}) check(programs, blocks, Transport::kRing);
}

}  // namespace
}  // namespace evk::twin::testing
