// Files of numbers, written whole or not at all, and read back with a checksum over every byte.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace evk {

// Tells a damaged file from a whole one at the speed of memory; no protection from one who means to mislead.
class Checksum {
 public:
  void add(const void* bytes, std::size_t size);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9e3779b97f4a7c15;
};

// Writes to a file beside `path`, which takes the place of `path` when all is on the disk.
class BinaryWriter {
 public:
  static Result<BinaryWriter> open(const std::string& path);
  BinaryWriter(BinaryWriter&&) = default;
  ~BinaryWriter();  // without `finish`, `path` stays as it was

  void bytes(const void* data, std::size_t size);
  template <class Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    bytes(&value, sizeof value);
  }
  template <class Number>
  void numbers(const std::vector<Number>& values) {
    bytes(values.data(), values.size() * sizeof(Number));
  }
  // Adds the checksum and puts the file in its place. An Error if any write failed.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit BinaryWriter(std::string path) : path_(std::move(path)) {}

  std::string path_, temporary_;
  std::unique_ptr<std::FILE, Close> file_;
  Checksum sum_;
  bool failed_ = false;
};

// Reads what BinaryWriter wrote. Every request is checked against what the file still holds, before memory is
// taken for it.
class BinaryReader {
 public:
  static Result<BinaryReader> open(const std::string& path);

  std::uint64_t left() const { return left_; }
  // False if the file ends before.
  bool bytes(void* data, std::uint64_t size);
  template <class Number>
  bool number(Number& value) {
    static_assert(std::is_arithmetic_v<Number>);
    return bytes(&value, sizeof value);
  }
  template <class Number>
  bool numbers(std::vector<Number>& values, std::uint64_t count) {
    if (count > left_ / sizeof(Number)) return false;
    values.resize(count);
    return bytes(values.data(), count * sizeof(Number));
  }
  // True if nothing is left but the checksum, and it is that of what was read.
  bool ends_well();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t left_ = 0;
  Checksum sum_;
};

}  // namespace evk
