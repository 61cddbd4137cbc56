// Elements of a nest whose innermost index is short, as of numbers in pairs: a thread makes a pack of them, which are
// neighbours along the two innermost indices.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dsl/cuda/writer.h"
#include "dsl/element.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// How many a thread makes: a multiple of the innermost index's extent. 1 where that index is as long as a pack, or not
// all that is read along these indices lies in packs.
std::int64_t GroupOf(const Kernel& kernel, const FlatElement& element);

// Lines that compute and store them. The name of the index before the innermost says which of such groups; the
// innermost has none. What of one pack in memory is read is read as one.
void WriteGroup(DeviceWriter& out, const Kernel& kernel, const FlatElement& element, std::map<int, std::string> names,
                std::int64_t count);

}  // namespace hone::dsl
