// SHA-256 (FIPS 180-4), for content keys and fingerprints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace evk {

class Sha256 {
 public:
  Sha256& update(std::string_view bytes);
  // Length-prefixed, so that ("ab","c") and ("a","bc") differ.
  Sha256& field(std::string_view bytes);
  // 64 lower-case hexadecimal digits. The object is used up.
  std::string hex();

 private:
  void block(const unsigned char* bytes);
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> tail_{};
  std::size_t tail_size_ = 0;
  std::uint64_t bytes_ = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace evk
