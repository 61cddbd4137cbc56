// New inputs at the speed of memory, for calls that take microseconds: 16 bytes after 16 bytes from places chosen by
// chance in a table of what the tensor's generator gives. To draw each element anew (problem/generate.h) would take
// longer than the calls do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"

namespace hone {

class InputTable {
 public:
  // seed, stream and folder as in Fill of problem/generate.h.
  static Result<InputTable> Create(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream,
                                   const std::string& folder);
  // Elements [begin, begin + count) of the tensor at `data`. They follow from the seed; whoever knows them all knows
  // nothing of another seed's. Of a file's tensor there are no others than the file's.
  void Fill(std::uint64_t seed, std::byte* data, std::uint64_t begin, std::uint64_t count) const;

 private:
  std::size_t element_bytes_ = 0;
  bool whole_ = false;  // the table is the tensor
  std::vector<std::byte> values_;
};

}  // namespace hone
