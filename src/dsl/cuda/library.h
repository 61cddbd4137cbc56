// What the back ends of NVIDIA's libraries share: which end of a statement a library makes itself, and a kernel that
// makes it afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The end of a statement as `max(it + bias + added, 0)`, where each part may be absent: operands, or -1.
struct LibraryEnd {
  int bias = -1, added = -1;
  bool relu = false;
  bool plain() const { return bias < 0 && added < 0 && !relu; }
};
// Nothing if the end is another one. What is added is a bias or the other thing as the two functions say of an operand.
std::optional<LibraryEnd> EndOf(const Kernel& kernel, const std::function<bool(int operand)>& is_bias,
                                const std::function<bool(int operand)>& is_added);

// Whether there is nothing to do: the result is `it`.
bool IsPlainEnd(const Kernel& kernel);

// A map that ends elements: `made` holds `it`, one stride for each of `dims`, which are the dimensions of the result in
// the order in which they lie in the target.
Kernel EndMap(const Kernel& kernel, const std::vector<int>& dims, KernelOperand made, DType made_type);
// A map over `space` for the device of another kernel, without operands yet; its way and settings once it has them.
Kernel MapBeside(const Kernel& kernel, std::vector<IndexVar> space, int target);
void SettleMap(Kernel& map);

// A kernel that goes over the target, which holds `it`, and ends its elements.
void EmitEnd(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

}  // namespace hone::dsl
