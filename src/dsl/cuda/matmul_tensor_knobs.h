// What can be set on products on the tensor cores (matmul_tensor.h). Its precisions are a way each; they have most of
// these in common. All of them read the kernel's way for its precision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/family.h"

namespace hone::dsl {

// Why the tensor cores cannot make the product in any precision, or nothing.
std::optional<std::string> WhyNoTensorCores(const Kernel& kernel);
// Why no tile of `precision` has both columns of the pairs that are rotated, or nothing.
std::optional<std::string> WhyNoRotation(const Kernel& kernel, TensorPrecision precision);
// Why it cannot scale the blocks that the operands have, or nothing.
std::optional<std::string> WhyNoBlocks(const Kernel& kernel, TensorPrecision precision);
// The cost of a way that multiplies what it is given in `precision`.
std::optional<double> TensorCost(const Kernel& kernel, TensorPrecision precision);

// The inputs that such a way packs.
std::vector<std::size_t> TensorPacks(const Kernel& kernel);

std::vector<Setting> TensorProductsValues(const Kernel& kernel);
std::optional<std::string> CheckTensorProducts(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorTileValues(const Kernel& kernel);
std::optional<std::string> CheckTensorTile(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorTurnsValues(const Kernel& kernel);
std::optional<std::string> CheckTensorTurns(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorHalvesValues(const Kernel& kernel);
std::optional<std::string> CheckTensorHalves(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorStagesValues(const Kernel& kernel);
std::optional<std::string> CheckTensorStages(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorPromoteValues(const Kernel& kernel);
std::optional<std::string> CheckTensorPromote(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorSumsValues(const Kernel& kernel);
std::optional<std::string> CheckTensorSums(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorClusterValues(const Kernel& kernel);
std::optional<std::string> CheckTensorCluster(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorSplitValues(const Kernel& kernel);
std::optional<std::string> CheckTensorSplit(const Kernel& kernel, const Setting& value);
std::vector<Setting> TensorEndValues(const Kernel& kernel);
std::optional<std::string> CheckTensorEnd(const Kernel& kernel, const Setting& value);

inline constexpr Knob kTensorProductsKnob{"products", kProductsDoc, TensorProductsValues, CheckTensorProducts};
inline constexpr Knob kTensorTileKnob{"tile", "rows x columns of the result that a block makes at a time",
                                      TensorTileValues, CheckTensorTile};
inline constexpr Knob kTensorTurnsKnob{
    "turns", "of a tile's halves: no, they are made together; yes, one is ended while the other is multiplied",
    TensorTurnsValues, CheckTensorTurns};
inline constexpr Knob kTensorHalvesKnob{
    "halves",
    "where operands become such: before, by kernels of their own; left, right or both, tile by tile where they are "
    "multiplied",
    TensorHalvesValues, CheckTensorHalves};
inline constexpr Knob kTensorStagesKnob{"stages",
                                        "tiles of both operands that are in flight in shared memory, 64 of K each",
                                        TensorStagesValues, CheckTensorStages};
inline constexpr Knob kTensorPromoteKnob{
    "promote", "elements of K after which the tensor cores' sums, which truncate, are added to sums in f32; 0 = never",
    TensorPromoteValues, CheckTensorPromote};
inline constexpr Knob kTensorSumsKnob{
    "sums", "that are promoted, a thread's: 2, one is while the tensor cores make the other, of 128 elements of K each",
    TensorSumsValues, CheckTensorSums};
inline constexpr Knob kTensorClusterKnob{"cluster", "blocks that share what they read of B", TensorClusterValues,
                                         CheckTensorCluster};
inline constexpr Knob kTensorSplitKnob{"split", kSplitDoc, TensorSplitValues, CheckTensorSplit};
inline constexpr Knob kTensorEndKnob{
    "end", "how 16-bit results leave: lines, by the threads; tiles, by the copy engine while the threads go on",
    TensorEndValues, CheckTensorEnd};

// Writes the product as the kernel's settings say; `conv`: the convolution that it is of.
void EmitTensorProduct(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, const ConvProduct* conv);
void EmitTensorWay(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

}  // namespace hone::dsl
