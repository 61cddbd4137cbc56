// Windows that slide over the last dimensions of a tensor: what convolutions and pools have in common.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/program.h"

namespace hone::dsl {

// One dimension of a window: output o reads the input at o * stride + k * dilation - padding for 0 <= k < window.
struct WindowDim {
  std::int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, padding = 0;
  std::int64_t Reach() const { return (window - 1) * dilation + 1; }  // places of the input from its first to its last
};

// One dimension of a loop in which the input moves on by a fixed step: position m writes the output at out_start + m *
// out_step; its tap t reads the input at m * in_step + offset + t * offset_step and stands at place first + t * every
// of the window. A window itself is one phase; a transposed one of stride s is s phases, each without gaps.
struct Phase {
  std::int64_t in = 1, positions = 1, out_start = 0, out_step = 1, in_step = 1;
  std::int64_t taps = 1, first = 0, every = 1, offset = 0, offset_step = 1;

  std::int64_t Low() const;   // the lowest input place of position 0
  std::int64_t Span() const;  // from the lowest tap to the highest
  bool Leaves() const;        // whether any tap of any position stands outside of the input
};
Phase PhaseOf(const WindowDim& dim);
// Of dim.out outputs made from dim.in inputs: input i and place k reach output i * stride + k * dilation - padding.
std::vector<Phase> TransposedPhases(const WindowDim& dim);

// The attribute as `count` numbers: one number stands for all, `otherwise` if it is absent; written back in full. Says
// why it does not fit.
std::optional<std::string> FillAttribute(Attributes& attributes, const std::string& name, std::size_t count,
                                         std::int64_t otherwise, std::int64_t least);

}  // namespace hone::dsl
