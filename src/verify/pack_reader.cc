#include "verify/pack_reader.h"

#include <list>
#include <mutex>

#include "task/case.h"

namespace evk {
namespace {

CaseTensor copy_of(const StoredTensor& stored) {
  return {stored.type.dtype, stored.type.shape, {stored.bytes.begin(), stored.bytes.end()}};
}

std::optional<CaseTensor> copy_of(const std::optional<StoredTensor>& stored) {
  return stored ? std::optional(copy_of(*stored)) : std::nullopt;
}

std::size_t bytes_of_case(const CaseData& data) {
  std::size_t bytes = 0;
  for (const CaseTensor& input : data.inputs) bytes += input.data.size();
  for (const CaseGolden& golden : data.goldens) {
    bytes += golden.truth.data.size();
    for (const auto* more : {&golden.reference, &golden.scale, &golden.values})
      bytes += *more ? (*more)->data.size() : 0;
  }
  return bytes;
}

class PackReader final : public CaseReader {
 public:
  explicit PackReader(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  Result<std::shared_ptr<const CaseData>> read(const Task& task, const ShapeSet& shapes,
                                               const TaskCase& which) override {
    const std::string key =
        task.folder + '\0' + task.source_sha256 + '\0' + which.inputs_file + '\0' + which.expected_file;
    if (auto known = find(key)) return known;
    EVK_TRY(const LoadedCase loaded, load_case(task, shapes, which));
    auto data = std::make_shared<CaseData>();
    for (const StoredTensor& input : loaded.inputs) data->inputs.push_back(copy_of(input));
    for (const StoredGolden& golden : loaded.goldens) {
      data->goldens.push_back(
          {copy_of(golden.truth), copy_of(golden.reference), copy_of(golden.scale), copy_of(golden.values)});
    }
    keep(key, data);
    return std::shared_ptr<const CaseData>(std::move(data));
  }

  // Drawn anew for every candidate that comes so far: cheaper than the run, and too large to keep.
  Result<std::shared_ptr<const TimedData>> read_timed(const Task& task, const ShapeSet& shapes) override {
    if (!shapes.timed) return std::shared_ptr<const TimedData>();
    EVK_TRY(LoadedTimed loaded, load_timed(task, shapes));
    auto data = std::make_shared<TimedData>();
    for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
      const TensorType& type = shapes.inputs[i].type;
      data->inputs.push_back({type.dtype, type.shape, std::move(loaded.inputs[i])});
    }
    for (StoredSample& sample : loaded.samples) {
      SampledGolden golden;
      if (!sample.positions.empty())
        golden.values = {
            copy_of(sample.golden.truth), copy_of(sample.golden.reference), copy_of(sample.golden.scale), {}};
      golden.positions = std::move(sample.positions);
      data->goldens.push_back(std::move(golden));
    }
    return std::shared_ptr<const TimedData>(std::move(data));
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const CaseData> data;
  };

  std::shared_ptr<const CaseData> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->key != key) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entries_.front().data;
    }
    return nullptr;
  }

  void keep(const std::string& key, std::shared_ptr<const CaseData> data) {
    std::lock_guard lock(mutex_);
    bytes_ += bytes_of_case(*data);
    entries_.push_front({key, std::move(data)});
    while (bytes_ > bytes_max_ && entries_.size() > 1) {
      bytes_ -= bytes_of_case(*entries_.back().data);
      entries_.pop_back();
    }
  }

  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<CaseReader> make_pack_reader(std::size_t bytes_max) {
  return std::make_unique<PackReader>(bytes_max);
}

}  // namespace evk
