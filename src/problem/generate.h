// Filling tensors with the data that a problem asks for.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "problem/drawing.h"
#include "problem/problem.h"

namespace hone {

// A variation on the problem's own data, to see whether a candidate is right beyond them. Touches inputs of a real type
// only: parameters, indices and masks keep their meaning.
struct Draw {
  std::string name = "own";
  double scale = 1;       // every element times this
  bool outliers = false;  // one element in 10^4, one at least, and as many at the end, a thousand times larger
  int widen = 0;          // every element times a power of two from 2^-widen to 2^widen, another for each
};

// The tensor's own generator with the variation, for host and device alike; of FromFile the variation alone.
Drawing DrawingOf(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, const Draw& draw);

// Writes the tensor.bytes() bytes at `data`. An element depends on (seed, stream) and its own index only, not on
// threads or on what was drawn before; give each tensor of a problem its own stream. Reals are drawn in double and
// rounded to nearest even once. More than a million elements are drawn by as many threads as the machine has cores.
// `folder` is where a FromFile path starts (Problem::folder). Fails with kNotFound, kIo or kUsage for FromFile only.
Result<void> Fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, const Draw& draw, void* data,
                  const std::string& folder = {});

}  // namespace hone
