// The probe's process: one run of probe.py in the sandbox.
#pragma once

#include <string>

#include "base/result.h"
#include "task/probe.h"

namespace evk {

// The bundle that the probe made of a task file: every file of the pack in one piece. What the probe
// complains of, and the limits that it meets, are Errors.
Result<std::string> run_probe(const ProbeConfig& config, const std::string& file_name,
                              const std::string& source);

// Writes the files of a bundle into `folder`, which must exist. No name in it may leave the folder.
Status unpack_bundle(const std::string& bundle, const std::string& folder);

}  // namespace evk
