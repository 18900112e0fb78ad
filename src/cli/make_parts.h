// The only place where concrete generators, verifiers and backends are named together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "campaign/campaign.h"
#include "cli/options.h"
#include "core/generator.h"
#include "core/verifier.h"
#include "task/suite.h"
#include "verify/case_data.h"
#include "verify/verifier_config.h"

namespace evk {

// Everything that outlives a campaign. Owned here; `parts` refers into it.
struct Workshop {
  std::string root;  // of the program's own files
  std::string cache;
  std::unique_ptr<Generator> generator;
  std::unique_ptr<Verifier> verifier;
  std::function<std::string(const Task&, const Context&)> prompt;

  CampaignParts parts();
};

// `cases` gives inputs and goldens: make_pack_reader() for tasks from packs.
Result<std::unique_ptr<Verifier>> make_verifier(const RunOptions& options, const std::string& root,
                                                const std::string& cache, std::unique_ptr<CaseReader> cases);
Result<std::unique_ptr<Backend>> make_backend(const RunOptions& options, const std::string& root,
                                              const std::string& cache);
VerifierConfig verifier_config(const RunOptions& options);
Result<std::unique_ptr<Workshop>> make_workshop(const RunOptions& options);

// Tells of long work, one line.
using Say = std::function<void(const std::string&)>;

// The task files that --suite and --only name.
Result<std::vector<SuiteEntry>> find_tasks(const RunOptions& options, const std::string& root);

// Those tasks, probed where needed. What could not be packed is told by `say` and
// left out, unless nothing is left.
Result<std::vector<Task>> load_tasks(const RunOptions& options, const std::string& root,
                                     const std::string& cache, const Say& say);

// M0 of the backend, numbered from 1.
Result<std::vector<MemoryItem>> load_seeds(const RunOptions& options, const std::string& root);

CampaignConfig campaign_config(const RunOptions& options);

// Writes a kernel's files into `folder`/<task>, in place of those that stand there. The folder written.
Result<std::string> save_kernel(const std::string& folder, const std::string& task,
                                const std::vector<SourceFile>& files);

}  // namespace evk
