// Matrix products on the tensor cores of compute capability 9.0: a warpgroup keeps a ring of shared-memory stages full
// with the bulk copy engine, one or two others multiply what is in them (wgmma) and end the elements. Blocks stay and
// take tile after tile.
//
//   f32x3  as accurate as FP32: each operand is the sum of two halves, high + low, scaled by a power of two for each
//   row
//          and `promote` elements of K; it is packed so before, or becomes that where it is multiplied
//          (matmul_halves.h). Three products are made of them: low * high, high * low, high * high. The tensor core's
//          accumulator truncates whenever something is added to it, which over long K would be the largest error by
//          far; so the small products come first, and after every `promote` of K it is scaled back, added to a sum in
//          registers and begun anew. Two consumers take turns then, so that one's products hide the other's sums. An
//          infinity or a NaN makes NaNs of its row or column, also where FP32 has an infinity.
//   f16    one product of scaled halves, promoted likewise: as accurate as TF32. Of operands that are halves already it
//          is what bf16 is.
//   bf16   one product of bfloat16s, for operands that are such
//   tf32   one product of floats, which the copy engine rounds to TF32: of convolutions alone
//   f8     one product of reals of 8 bits, for operands that are such: the accumulator keeps some 13 bits of them, so
//          their sums are begun anew after every `promote` of K as well, but nothing is scaled
//   i8     one product of whole numbers of 8 bits, exact: sums of 32
//
// Where blocks of the operands have scales (families/scaled_matmul.cc), sums of f8, and of halves, are begun anew after
// every block of K, and what they were is scaled as it is added.
//
// Of groups of rows (families/grouped_matmul.cc) each begins a tile of its own: where, a block finds out from the ends
// of the groups before it begins. Tiles of a group's last rows reach into the next group's, and leave those out at the
// end.
//
// Of segments of K (families/segment_matmul.cc) each is a batch, over as many stages as it has terms for. What its last
// stage brings of the next segment the consumers clear before they multiply.
//
// Where consumers take turns, each has a tile of 64 rows of its own: while one ends its elements the other multiplies,
// and only one of them does at a time.
//
// Of a convolution (conv_product.h) one operand is pixels under the places of a window, and copied so.
//
// Operands that are such 16-bit numbers already and aligned are read where they are, along K or across it
// (matmul_layout.h): the tensor cores turn those. Of several right operands tiles lie one below the other in a stage,
// as if they were one: a thread then has the same elements of all products.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// The attribute of a product whose B is pixels, which the copy engine finds tile by tile (conv_product.h).
inline constexpr std::string_view kWalksB = "walks_b";

// Way::least_us of products in tiles: 1 % of 700 launches of networks took less than 3.8 us
// (docs/measured/cuda_layers.md).
inline constexpr double kTensorLeastUs = 3.5;

inline constexpr Instructions kTensorNeeds = {.tensor_maps = true, .wgmma = true};

// Whether operands are packed with scales of their own, and their sums promoted.
bool ScalesOperands(const Kernel& kernel, TensorPrecision precision);
// Neighbouring columns of a tile whose blocks, where operands have such, have one scale.
std::int64_t ColumnsOfOneScale(const Kernel& kernel, const MatmulShape& shape, std::int64_t tile_n);
// Whether all operands are numbers of the precision's type and are multiplied where they lie: nothing is packed.
bool MultipliesInPlace(const Kernel& kernel, TensorPrecision precision);
// Those that are packed.
std::vector<std::size_t> PackedInputs(const Kernel& kernel, TensorPrecision precision);
// Whether all do so along K; and whether numbers of 16 bits do across it, all of them.
bool LieAlongK(const Kernel& kernel, TensorPrecision precision);
bool LieAcrossK(const Kernel& kernel);
// Whether all right operands do so alike, so that several products may be made together.
bool RightOnesLieAlike(const Kernel& kernel, TensorPrecision precision);

class ConvProduct;  // dsl/cuda/conv_product.h

// `conv`: the convolution that the kernel is the product of, or null.
void EmitMatmulTensor(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                      const TensorSettings& settings, const ConvProduct* conv = nullptr);

}  // namespace hone::dsl
