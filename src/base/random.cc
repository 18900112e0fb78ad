#include "base/random.h"

#include "base/check.h"

namespace evk {
namespace {

std::uint64_t finalise(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return finalise(finalise(a + 0x9e3779b97f4a7c15ULL) ^ (b + 0x9e3779b97f4a7c15ULL));
}

std::uint64_t hash64(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return finalise(h);
}

Random Random::of(std::uint64_t seed, std::int64_t sweep, std::string_view task, std::string_view purpose) {
  return Random(mix(mix(seed, static_cast<std::uint64_t>(sweep)), mix(hash64(task), hash64(purpose))));
}

std::uint64_t Random::next() { return mix(key_, counter_++); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t bound) {
  EVK_CHECK(bound > 0);
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t draw = next();
  while (draw >= limit) draw = next();
  return draw % bound;
}

}  // namespace evk
