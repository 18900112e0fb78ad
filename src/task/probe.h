// Makes task packs of task files by the probe, and keeps them.
//
//   Probe probe(probe_config(root, cache + "/packs"));
//   EVK_TRY(Task task, probe.load(entry));
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/task.h"
#include "task/suite.h"

namespace evk {

struct ProbeConfig {
  std::string python = "/usr/bin/python3";  // an interpreter that can import torch
  std::string probe_folder;                 // where probe.py and its modules lie
  std::string cache_folder;                 // where packs are kept; made if missing
  std::int64_t small_elements = 1 << 20;    // elements of the checked sizes, in all, at most
  std::chrono::milliseconds wall{60'000};   // of one probe
  std::uint64_t memory_bytes = 6ull << 30;  // of one probe
};

// The configuration for the program's own files in `root`; $EVOKERNEL_PYTHON names another interpreter.
ProbeConfig probe_config(const std::string& root, const std::string& cache_folder);

// $XDG_CACHE_HOME/evokernel/packs, else ~/.cache/evokernel/packs.
std::string default_pack_cache();

// Any number of threads and processes may use one cache folder at the same time.
class Probe {
 public:
  explicit Probe(ProbeConfig config);

  // The task of the entry: of its shipped pack if that was made of the very same file, else of the cached
  // pack, else of a new one (one to five seconds). The id is the entry's. The file is executed in a sandbox,
  // without network. An Error is one line that says what is wrong with the file or the machine, and what
  // helps; failures are not kept.
  Result<Task> load(const SuiteEntry& entry) const;

  // The folder of the pack of `file`, made if need be.
  Result<std::string> pack_of(const std::string& file) const;

 private:
  Result<std::string> key_of(const std::string& source) const;
  Status make_pack(const std::string& file, const std::string& source, const std::string& folder) const;

  ProbeConfig config_;
};

}  // namespace evk
