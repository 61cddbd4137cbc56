// What the ways of `order` share on CUDA.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/shape/ordering.h"

namespace hone::dsl {

// What is compared, as a value in a register, at the named indices; may write lines.
std::string OrderedText(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names);
// Stores what the chain makes of an element's index, a whole number, at the named place of the result, and what is also
// made of the element. That is `element`, a value; where it is empty and wanted, the element is looked up.
void WriteOrdered(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names,
                  const std::string& index, const std::string& element = "");
// Whether a number's place in order takes 64 bits (KeyOf of order.cuh), not 32; that place, of what is compared at the
// named indices.
bool HasWideKey(const Kernel& kernel);
std::string KeyText(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names);
// The element that has such a key, as a value: what its key says, or else looked up at its place in the row. Empty
// where nothing is made of it.
std::string ElementOfKey(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names,
                         const std::string& key, const std::string& place);
// After SortFirst (order.cuh) of shared `found` and `found_at`: stores the first of a row. `mine` of so many threads.
// Where only a piece of them was sorted, `piece` says how many come before it and how many it has.
struct SortedPiece {
  std::string before, count;
};
void WriteSorted(DeviceWriter& out, const Kernel& kernel, std::map<int, std::string> names, const std::string& mine,
                 std::int64_t threads, const std::optional<SortedPiece>& piece = std::nullopt);
// The buffers that WriteOrdered reads; those that it reads beside the element, where somebody else has that.
std::vector<int> ReadsOfOrdered(const Kernel& kernel, bool has_element);

}  // namespace hone::dsl
