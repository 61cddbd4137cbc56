#include "dsl/cpu/convolution.h"

#include <algorithm>

namespace hone::dsl {

DirectBlock::DirectBlock(const std::array<Phase, 3>& phase, std::int64_t pixels) {
  const Phase &y = phase[1], &x = phase[2];
  columns = std::max<std::int64_t>(1, std::min(x.positions, pixels));
  rows = std::clamp<std::int64_t>(pixels / columns, 1, std::max<std::int64_t>(1, y.positions));
  phases_y = std::min(y.in_step, y.Span() + 1);
  phases_x = std::min(x.in_step, x.Span() + 1);
  pitch = columns + x.Span() / x.in_step;
  lines = rows + y.Span() / y.in_step;
  part = lines * pitch;
  plane = phases_y * phases_x * part;
  cube = std::max<std::int64_t>(1, phase[0].taps) * plane;
  // Channels a power of two apart would all meet in a few sets of the cache.
  if (cube % 128 == 0) cube += 16;
}

std::int64_t DirectBlock::Count(std::int64_t channels, std::int64_t pixels_at_a_time) const {
  return channels * cube + pixels_at_a_time + pitch;
}

}  // namespace hone::dsl
