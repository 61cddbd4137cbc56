// Places in order by sorting: rows are sorted in chunks, in shared memory; each element then looks for its place in
// every chunk of its row, by halves. Two kernels.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The most elements that are ranked: they are counted in ints.
inline constexpr std::int64_t kMostRanked = std::int64_t{1} << 30;

struct RankedRows {
  IndexVar along;                  // of a row's elements
  std::vector<IndexVar> elements;  // all indices, `along` too, outermost first
  bool descending = false;
  // What is compared, as a value in a register, at the named indices; may write lines. What it reads.
  std::function<std::string(const std::map<int, std::string>& names)> value;
  std::vector<int> value_reads;
  // Writes what comes of an element whose place has that name, a long; what it reads, beside.
  std::function<void(const std::map<int, std::string>& names, const std::string& place)> end;
  std::vector<int> end_reads;
};
// Blocks of so many threads look for places.
void WriteRanks(DeviceWriter& out, const Kernel& kernel, const RankedRows& rows, std::int64_t threads);

}  // namespace hone::dsl
