// A convolution as a product of matrices on the tensor cores (matmul_tensor.h): one operand is the weights, the other
// the pixels under each place of the window, which the copy engine finds in the image. K is channels, for one place of
// the window after the other; a stage is channels of one place. Few channels become more: those of a whole row of the
// window are copied side by side for each pixel of the result, so that a stage is a row; or those of the whole window,
// as where it moves on by more pixels than the copy engine steps over.
//
//   channels first   A: weights; B: pixels of an image. The result, [N, groups, O / groups, pixels], is PyTorch's.
//   channels last    A: pixels of all images; B: weights. The result is [N, pixels, O].
//
// A transposed convolution with gaps or groups is several products, whose results lie apart (conv_phases.h).
//
// Both operands lie with their channels last (channels_last.h), at multiples of 16 bytes. Channels beyond the last of a
// place are zeros that the copy engine makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "dsl/cuda/conv_phases.h"
#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {

// Why the tensor cores cannot multiply the operands of a convolution wherever they lie, or nothing.
std::optional<std::string> WhyNoTensorOperands(const Kernel& conv);
// Why it may not be made in TF32, as they multiply f32, or nothing; and the setting that allows it.
std::optional<std::string> WhyNotInTf32(const Kernel& conv);
std::vector<Setting> ConvTf32Values(const Kernel& conv);
std::optional<std::string> CheckConvTf32(const Kernel& conv, const Setting& value);
inline constexpr Knob kConvTf32Knob{"precision", "tf32: what products of f32 are made in", &ConvTf32Values,
                                    &CheckConvTf32};

// Why the tensor cores cannot make the convolution so, or nothing. The operands need not lie as they have to.
std::optional<std::string> WhyNoConvProduct(const Kernel& conv);

// `window`: its places one by one, or those of a row or of the whole window at once, which a copy of x has side by side
// for each output. That copy is as many times larger than x as windows overlap; where a pixel's channels are few,
// stages that are copied to shared memory have more than zeros then, and with whole windows any stride will do.
inline constexpr std::string_view kWindowKnob = "window", kPlaces = "places", kRows = "rows", kWhole = "whole";
// Those that there are, the default first; and whether a row fits, whether it is side by side by default, and whether a
// copy of whole windows is not too large.
std::vector<std::string_view> WaysThroughWindow(const Kernel& conv);
bool RowsMayBeSideBySide(const Kernel& conv);
bool RowsAreSideBySide(const Kernel& conv);
bool WindowMayBeSideBySide(const Kernel& conv);

// How many groups one product makes, with weights that are zeros between them: groups of few channels fill no stage and
// no tile by themselves, and with all of them channels may lie last. An infinity of a group's x is a NaN in those
// beside it then. And whether all of them may be made so.
std::int64_t GroupsTogether(const Kernel& conv);
bool AllGroupsMayBeTogether(const Kernel& conv);

class ConvProduct {
 public:
  // `conv` outlives it; of its settings, `layout` and `window` alone are looked at.
  // `number`: below ConvProductsOf.
  explicit ConvProduct(const Kernel& conv, std::int64_t number = 0);

  // Of the family matmul, with the settings of the convolution: its operands that are multiplied are there to say
  // which shape and type they have.
  const Kernel& kernel() const { return product_; }
  // 32 bytes of K are a step: so many of a stage's have more than zeros.
  std::int64_t StepsOfStage() const;

  TensorMapArgument Map(const KernelProgram& program, int input, std::int64_t lines) const;
  // Lines that say where the copies of a tile, whose batch has these indices, begin; and those of its stage `block`.
  void OpenTile(DeviceWriter& out, const MatmulText& text, const std::vector<std::string>& batches,
                const TensorSettings& settings) const;
  void OpenStage(DeviceWriter& out) const;
  // Of a transposed one whose results lie apart, else null.
  const ConvPhase* phase() const { return phase_ ? &*phase_ : nullptr; }
  // The copy of an operand's tile to shared memory at `to`; `share`: what is added to its first line, "" or " + ..";
  // `blocks`: to which of the cluster, 0 = the own one.
  std::string Copy(int input, const std::string& to, const std::string& map, const std::string& share,
                   int blocks) const;

 private:
  bool IsPixels(int input) const { return (input == 0) == pixels_are_rows_; }
  std::string Group(const std::string& times) const;

  const Kernel& conv_;
  std::optional<ConvPhase> phase_;
  Convolution shape_;
  std::size_t spatial_;
  bool pixels_are_rows_;
  std::int64_t depth_;           // elements of a stage
  std::int64_t stage_channels_;  // of which so many are multiplied
  std::int64_t place_stages_;    // stages of a place of the window
  Kernel product_;
};

// Whether an operand (0: x, 1: w) lies as it has to; and what a copy of it that does is.
bool LiesForTiles(const Kernel& conv, int input);
struct TileCopy {
  std::vector<std::size_t> dims;  // of the space: n, channels, spatial.., or O, channels, window..
  Shape of, shape;                // what is copied along each, and as what: channels are rounded up, by zeros
  std::int64_t channels = 1;      // those that are there
  bool backwards = false;         // along the window: weights of a transposed convolution
  bool phases = false;            // those of all phases of one whose results lie apart
  std::int64_t together = 1;      // weights of so many groups have the channels of all of them, zeros but for their own
  std::size_t beside = 0;         // along so many of the window's last dimensions its places' channels are side by side
};
TileCopy TileCopyOf(const Kernel& conv, int input);
// The copy's dimensions where it only moves elements, as one of windows side by side that neither overlap nor reach
// over an edge: so many steps along one of TileCopy::dims each. Nothing if it is another.
struct TileDim {
  std::int64_t extent = 1, step = 1;
  std::size_t of = 0;
};
std::optional<std::vector<TileDim>> TileDimsOf(const Kernel& conv, int input, const TileCopy& copy);
// An element of the copy, whose place has its channels last, of a load that has them last, too.
Expr ElementOf(const Kernel& conv, int input, const TileCopy& copy, const std::vector<IndexVar>& place);

}  // namespace hone::dsl
