// All that the twin finds wrong with a kernel on one launch's shapes, in one report.
//
// A clean first run is followed by two more: blocks in reversed order, and memories that held other bytes
// before. Outputs that change with either depend on what the device does not promise.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "twin/engine/session.h"

namespace evk::twin {

// What a finding's code is about: "hazard", "bounds", "capacity", "queue", "sync", "instruction", "result",
// or "program" (host side, crashes, and all else).
std::string class_of(const std::string& code);

struct CheckReport {
  RunEnd end = RunEnd::kAborted;  // of the first run
  int runs = 0;
  std::vector<Finding> findings;  // faults first, then notes
  bool clean() const;             // no finding but notes
  // Faults (not notes) by class; every class is there.
  std::map<std::string, int> faults_by_class() const;
};

using Runner = std::function<Result<RunReport>(const Launch&)>;
// REQUIRES: launch.move_data. Fails as `run` does.
Result<CheckReport> check(const Launch& launch, const Runner& run);
// The report of a kernel that the compiler refuses.
CheckReport does_not_compile(const std::string& compiler_output);

// One object, "schema": 1; docs/twin.md describes it.
nlohmann::json to_json(const CheckReport& report);
// Several lines on stdout.
void show(const CheckReport& report);

}  // namespace evk::twin
