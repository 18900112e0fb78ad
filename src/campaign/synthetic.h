// A world in which what helps is known: tasks of some difficulty, memory items of hidden quality, and a
// generator that succeeds the more likely the better what it is shown. It stands behind the product's own
// seams (Generator, Verifier, Embedder), so that the real retrieval and learning run in it, thousands of
// attempts a second. For studies and for tests.
//
// The law: an item has a quality, drawn once and hidden. It adds to the odds of every attempt that is shown
// it, in full on tasks of its own category and in part on others. Similarity tells the category, with noise,
// and nothing of the quality: that is what is left for values to learn.
#pragma once

#include <memory>
#include <vector>

#include "campaign/campaign.h"

namespace evk {

struct SyntheticConfig {
  std::uint64_t seed = 1;
  int tasks = 100;
  int categories = 7;
  double difficulty_mean = 7, difficulty_deviation = 2;  // of a task, in logits
  double quality_mean = -0.3, quality_deviation = 1;     // of an item
  double feasible_bonus = 0;                             // in quality, of what a success left
  double gain = 2;                                       // logits that one shown item of quality 1 adds
  double misfit = 0.8;                                   // share of that on tasks of another category
  double noise = 0.6;             // of a task's vector, against its category's weight of 1
  double key_noise = 0.3;         // of an item's vector, added to its task's
  double speed_deviation = 0.15;  // of the log latency that a refinement draws
};

class SyntheticWorld {
 public:
  explicit SyntheticWorld(const SyntheticConfig& config);
  ~SyntheticWorld();

  const std::vector<Task>& tasks() const { return tasks_; }
  // Maps key texts of this world's tasks and items to vectors of 16 numbers. Two items of a task differ if
  // what follows the first line of their keys does.
  std::shared_ptr<const Embedder> embedder() const { return embedder_; }
  // Refers to this world, which must outlive it.
  CampaignParts parts();
  // Logits that `item` adds to an attempt at `task`: what an oracle would rank by.
  double help_of(const MemoryItem& item, const Task& task) const;
  double difficulty_of(const Task& task) const;

 private:
  class SyntheticGenerator;
  class SyntheticVerifier;

  SyntheticConfig config_;
  std::vector<Task> tasks_;
  std::shared_ptr<const Embedder> embedder_;
  std::unique_ptr<SyntheticGenerator> generator_;
  std::unique_ptr<SyntheticVerifier> verifier_;
};

}  // namespace evk
