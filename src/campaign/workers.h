// Runs jobs on some threads and hands their results on in order, from the caller's thread, as soon as all
// before are done.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"

namespace evk {

// `work(i)` is called once for each i < count, from up to `jobs` threads; `take(i, result)` in ascending
// order of i. No new job begins once `stop` is true or `take` failed; what is under way is finished, and
// results that are complete up to the first missing one are still taken. Returns the first failure of `take`.
template <typename T, typename Work, typename Take>
Status run_in_order(int jobs, std::size_t count, const std::atomic<bool>& stop, const Work& work,
                    const Take& take) {
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::optional<T>> results(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::size_t running = 0;

  const auto worker = [&] {
    while (!stop && !failed) {
      const std::size_t i = next++;
      if (i >= count) break;
      T result = work(i);
      const std::lock_guard lock(mutex);
      results[i] = std::move(result);
      ready.notify_one();
    }
    const std::lock_guard lock(mutex);
    --running;
    ready.notify_one();
  };

  std::vector<std::thread> threads;
  running = static_cast<std::size_t>(std::max(1, jobs));
  const std::size_t started = running;
  for (std::size_t t = 0; t < started; ++t) threads.emplace_back(worker);

  Status status;
  std::unique_lock lock(mutex);
  for (std::size_t i = 0; i < count; ++i) {
    ready.wait(lock, [&] { return results[i].has_value() || running == 0; });
    if (!results[i]) break;
    T result = *std::move(results[i]);
    lock.unlock();
    status = take(i, std::move(result));
    lock.lock();
    if (!status) break;
  }
  failed = !status;
  lock.unlock();
  for (auto& thread : threads) thread.join();
  return status;
}

}  // namespace evk
