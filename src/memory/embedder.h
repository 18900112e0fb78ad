// Turns texts into vectors whose cosine says how alike they are.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace evk {

class Embedder {
 public:
  virtual ~Embedder() = default;
  // Names the method and all that its vectors depend on; vectors of different ids are never compared.
  virtual std::string id() const = 0;
  virtual std::size_t dimension() const = 0;
  // An L2-normalised vector; all zeros for a text without words. Pure, safe from several threads.
  virtual std::vector<float> embed(std::string_view text) const = 0;
};

// Offline fallback: words and word pairs hashed into `dimension` signed buckets, sublinear term frequency,
// inverse document frequency taken from `corpus`. Equal corpus and text give equal bits on every machine.
std::unique_ptr<Embedder> hashed_tf_idf(const std::vector<std::string>& corpus, std::size_t dimension = 1024);

// Lower-case words of a text: runs of letters and digits, split at underscores and where a capital begins a
// word.
std::vector<std::string> words_of(std::string_view text);

}  // namespace evk
