// Safetensors files: an 8-byte length, a JSON header that names each tensor, its type, shape and place, then the raw
// data, little-endian. Recorded weights are kept in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "problem/problem.h"

namespace hone {

// A file opened for reading. The header is checked when it is opened: no tensor reaches past the end. Safe from any
// thread.
class Safetensors {
 public:
  struct Entry {
    DType dtype = DType::kF32;
    Shape shape;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t bytes = 0;
  };

  // kNotFound or kIo if it cannot be read, kUsage if it is no safetensors file.
  static Result<Safetensors> Open(const std::string& path);
  Safetensors(Safetensors&& other) noexcept;
  Safetensors& operator=(Safetensors&& other) noexcept;
  ~Safetensors();

  const std::map<std::string, Entry>& entries() const { return entries_; }
  Result<void> Read(const Entry& entry, void* data) const;  // data: entry.bytes bytes

 private:
  Safetensors() = default;
  std::string path_;
  int fd_ = -1;
  std::map<std::string, Entry> entries_;
};

struct NamedData {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  const void* data = nullptr;  // not owned
};

// Writes them in this order, over what was there.
Result<void> WriteSafetensors(const std::string& path, const std::vector<NamedData>& tensors);

}  // namespace hone
