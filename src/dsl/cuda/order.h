// What the ways of `order` share on CUDA.
#pragma once

#include <map>
#include <string>

#include "dsl/cuda/writer.h"
#include "dsl/shape/ordering.h"

namespace hone::dsl {

// What is compared, as a value in a register, at the named indices; may write lines.
std::string OrderedText(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names);
// Stores what the chain makes of an element's index, a whole number, at the named place of the result.
void WriteOrdered(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names,
                  const std::string& index);

}  // namespace hone::dsl
