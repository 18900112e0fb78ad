#include "memory/embedder.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/random.h"

namespace evk {
namespace {

constexpr std::size_t kTextMax = 1 << 16;  // longer texts are cut: a key is a summary, not a book

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms = words_of(text.substr(0, kTextMax));
  const std::size_t words = terms.size();
  for (std::size_t i = 0; i + 1 < words; ++i) terms.push_back(terms[i] + " " + terms[i + 1]);
  return terms;
}

class HashedTfIdf final : public Embedder {
 public:
  HashedTfIdf(const std::vector<std::string>& corpus, std::size_t dimension)
      : dimension_(dimension), documents_(corpus.size()) {
    std::uint64_t key = documents_;
    for (const auto& document : corpus) {
      const auto terms = terms_of(document);
      for (const auto& term : std::set<std::string>(terms.begin(), terms.end())) ++frequency_[term];
      key = mix(key, hash64(document));
    }
    id_ = fmt::format("hash-tf-idf-{}-v1-{:016x}", dimension_, key);
  }

  std::string id() const override { return id_; }
  std::size_t dimension() const override { return dimension_; }

  std::vector<float> embed(std::string_view text) const override {
    std::map<std::string, int> counts;  // ordered: sums are taken in one order everywhere
    for (auto& term : terms_of(text)) ++counts[term];
    std::vector<double> sum(dimension_, 0.0);
    for (const auto& [term, count] : counts) {
      const std::uint64_t h = hash64(term);
      const double weight = (1 + std::log2(static_cast<double>(count))) * idf(term);
      sum[h % dimension_] += (h >> 63) ? weight : -weight;
    }
    double norm2 = 0;
    for (const double v : sum) norm2 += v * v;
    std::vector<float> vector(dimension_, 0.0f);
    if (norm2 > 0)
      for (std::size_t i = 0; i < dimension_; ++i) vector[i] = static_cast<float>(sum[i] / std::sqrt(norm2));
    return vector;
  }

 private:
  double idf(const std::string& term) const {
    const auto found = frequency_.find(term);
    const double df = found == frequency_.end() ? 0.0 : found->second;
    return std::log2((static_cast<double>(documents_) + 1) / (df + 1)) + 1;
  }

  std::size_t dimension_, documents_;
  std::unordered_map<std::string, double> frequency_;
  std::string id_;
};

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  char before = ' ';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (!std::isalnum(u)) {
      flush();
    } else {
      if (std::isupper(u) && std::islower(static_cast<unsigned char>(before))) flush();
      word += static_cast<char>(std::tolower(u));
    }
    before = c;
  }
  flush();
  return words;
}

std::unique_ptr<Embedder> hashed_tf_idf(const std::vector<std::string>& corpus, std::size_t dimension) {
  return std::make_unique<HashedTfIdf>(corpus, dimension);
}

}  // namespace evk
