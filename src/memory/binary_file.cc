#include "memory/binary_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace evk {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;  // FNV's

tl::unexpected<Error> cannot_be(const std::string& what, const std::string& path) {
  return failure(fmt::format("{}: cannot be {}: {}", path, what, std::strerror(errno)), Retry::kAfterFix);
}

}  // namespace

// FNV-1a over eight interleaved streams of 64-bit words, then over what they came to.
void Checksum::add(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::array<std::uint64_t, 8> lane;
  for (std::size_t i = 0; i < lane.size(); ++i) lane[i] = value_ + i;
  std::size_t done = 0;
  for (; done + sizeof lane <= size; done += sizeof lane)
    for (std::size_t i = 0; i < lane.size(); ++i) {
      std::uint64_t word;
      std::memcpy(&word, at + done + i * sizeof word, sizeof word);
      lane[i] = (lane[i] ^ word) * kPrime;
      lane[i] ^= lane[i] >> 32;
    }
  for (const auto word : lane) value_ = (value_ ^ word) * kPrime;
  for (; done < size; ++done) value_ = (value_ ^ at[done]) * kPrime;
  value_ ^= value_ >> 32;
}

Result<BinaryWriter> BinaryWriter::open(const std::string& path) {
  BinaryWriter writer(path);
  writer.temporary_ = fmt::format("{}.{}.tmp", path, ::getpid());
  writer.file_.reset(std::fopen(writer.temporary_.c_str(), "wbe"));
  if (!writer.file_) return cannot_be("written", writer.temporary_);
  return writer;
}

BinaryWriter::~BinaryWriter() {
  if (file_) ::unlink(temporary_.c_str());
}

void BinaryWriter::bytes(const void* data, std::size_t size) {
  sum_.add(data, size);
  if (size && std::fwrite(data, 1, size, file_.get()) != size) failed_ = true;
}

Status BinaryWriter::finish() {
  const std::uint64_t sum = sum_.value();
  failed_ |= std::fwrite(&sum, sizeof sum, 1, file_.get()) != 1;
  failed_ |= std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0;
  if (failed_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot_be("written", path_);
  file_.reset();
  return {};
}

Result<BinaryReader> BinaryReader::open(const std::string& path) {
  BinaryReader reader;
  reader.file_.reset(std::fopen(path.c_str(), "rbe"));
  struct stat facts {};
  if (!reader.file_ || ::fstat(::fileno(reader.file_.get()), &facts) != 0 || !S_ISREG(facts.st_mode))
    return cannot_be("read", path);
  reader.left_ = static_cast<std::uint64_t>(facts.st_size);
  return reader;
}

bool BinaryReader::bytes(void* data, std::uint64_t size) {
  if (size > left_ || (size && std::fread(data, 1, size, file_.get()) != size)) return false;
  left_ -= size;
  sum_.add(data, size);
  return true;
}

bool BinaryReader::ends_well() {
  const std::uint64_t expected = sum_.value();
  std::uint64_t sum = 0;
  return left_ == sizeof sum && bytes(&sum, sizeof sum) && sum == expected;
}

}  // namespace evk
