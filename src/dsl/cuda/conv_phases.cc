#include "dsl/cuda/conv_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/expr.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kAxes[] = {"z", "y", "x"};  // of spatial dimensions, outermost first

SeenInputs SeenBy(const std::vector<Phase>& phases) {
  std::int64_t low = 0, high = 0;
  bool some = false;
  for (const Phase& phase : phases) {
    if (phase.taps == 0) continue;
    const std::int64_t first = phase.Low(), last = first + phase.Span();
    low = some ? std::min(low, first) : first;
    high = some ? std::max(high, last) : last;
    some = true;
  }
  return {.low = low, .count = high - low + 1};
}

}  // namespace

bool LeavesApart(const Kernel& conv) {
  const Convolution shape(conv);
  const bool gaps = std::ranges::any_of(shape.dims, [](const WindowDim& dim) { return dim.stride > 1; });
  return shape.transposed && (gaps || shape.groups > 1);
}

std::int64_t ConvProductsOf(const Kernel& conv) {
  if (!LeavesApart(conv)) return 1;
  const Convolution shape(conv);
  return static_cast<std::int64_t>(shape.phases[0].size() * shape.phases[1].size());
}

std::optional<std::string> WhyNotApart(const Kernel& conv) {
  if (MakesChannelsLast(conv))
    return "phases of a transposed one do not lie side by side; try 'layout: channels_first'";
  const Convolution shape(conv);
  for (const WindowDim& dim : shape.dims) {
    if (dim.out < dim.stride) return "a transposed one has as many outputs as its stride, or more";
  }
  return std::nullopt;
}

Convolution TogetherOf(const Kernel& conv) {
  Convolution shape(conv);
  if (!shape.transposed) return shape;
  shape.transposed = false;
  for (std::size_t d = 0; d < 3; ++d) {
    const SeenInputs seen = SeenBy(shape.phases[d]);
    shape.made *= static_cast<std::int64_t>(shape.phases[d].size());
    shape.dims[d] = {
        .in = shape.dims[d].in, .out = shape.phases[d].front().positions, .window = seen.count, .padding = -seen.low};
  }
  return shape;
}

ConvPhase::ConvPhase(const Kernel& conv, std::int64_t number) : whole_(conv), number_(number) {
  own_[0] = static_cast<std::size_t>(number / Phases(1));
  own_[1] = static_cast<std::size_t>(number % Phases(1));
  for (std::size_t d = 0; d < 3; ++d) seen_[d] = SeenBy(whole_.phases[d]);
}

// Where among what is seen along z or y this phase begins. One that sees nothing has one place, of zeros.
std::int64_t ConvPhase::FirstSeen(std::size_t d) const {
  return d == 2 || phase(d).taps == 0 ? 0 : phase(d).Low() - seen_[d].low;
}

Convolution ConvPhase::Shape() const {
  Convolution shape = whole_;
  shape.transposed = false;
  shape.made *= OutputsOfOne();
  for (std::size_t d = 0; d < 3; ++d) {
    WindowDim& dim = shape.dims[d];
    dim = {.in = dim.in, .out = phase(d).positions, .padding = -(seen_[d].low + FirstSeen(d))};
    if (d == 2) {
      dim.window = seen_[d].count;
    } else {
      dim.window = std::max<std::int64_t>(phase(d).taps, 1);
      dim.dilation = std::max<std::int64_t>(std::abs(phase(d).offset_step), 1);
    }
  }
  return shape;
}

hone::Shape ConvPhase::Weights(std::size_t spatial) const {
  hone::Shape shape = {Phases(0) * Phases(1) * whole_.groups * whole_.made * Phases(2), whole_.channels};
  for (std::size_t d = 3 - spatial; d < 3; ++d) shape.push_back(seen_[d].count);
  return shape;
}

void ConvPhase::FindWeight(std::vector<Expr>& at, const std::function<void(Expr)>& within) const {
  Expr& row = at.front();
  const auto cut = [&](std::int64_t extent) {
    const Expr last = Apply(BinaryOp::kFloorMod, row, extent);
    row = Apply(BinaryOp::kFloorDiv, row, extent);
    return last;
  };
  std::array<Expr, 3> phases;
  phases[2] = cut(Phases(2));
  const Expr output = cut(whole_.made), group = cut(whole_.groups);
  phases[1] = cut(Phases(1));
  phases[0] = row;
  row = output;
  at.back() = group * whole_.channels + at.back();
  const std::size_t spatial = at.size() - 2;
  for (std::size_t i = 1; i <= spatial; ++i) {
    // The place that takes an input to an output of the phase: place * dilation = phase + padding - input * stride.
    const std::size_t d = i + 2 - spatial;
    const WindowDim& dim = whole_.dims[d];
    const Expr distance = phases[d] + dim.padding - (at[i] + seen_[d].low) * dim.stride;
    at[i] = Apply(BinaryOp::kFloorDiv, distance, dim.dilation);
    if (dim.dilation > 1) within(Equal(Apply(BinaryOp::kFloorMod, distance, dim.dilation), Expr(std::int64_t{0})));
    within(LessEqual(Expr(std::int64_t{0}), at[i]));
    within(Less(at[i], dim.window));
  }
}

std::int64_t ConvPhase::FirstWeight() const { return number_ * whole_.groups * whole_.made * Phases(2); }

std::string ConvPhase::WeightPlace() const {
  const Convolution shape = Shape();
  std::string text;
  std::int64_t inside = 1, step = 1, first = 0;
  for (std::size_t d = 3; d-- > 0;) {
    const WindowDim& dim = shape.dims[d];
    first += step * FirstSeen(d);
    if (dim.window > 1)
      text += fmt::format("{}place / {} % {} * {}", text.empty() ? "" : " + ", inside, dim.window, step * dim.dilation);
    inside *= dim.window;
    step *= seen_[d].count;
  }
  if (text.empty()) return fmt::format("{}", first);
  return first == 0 ? text : fmt::format("{} + {}", text, first);
}

void ConvPhase::OpenColumn(DeviceWriter& out, const MatmulText& text, const std::vector<std::string>& batches) const {
  const Convolution shape = Shape();
  const std::size_t images = text.shape.batch.size() - (shape.groups > 1 ? 1 : 0);
  out.Line(fmt::format("const {} column_image = {}n / {};", text.index, images > 0 ? batches[0] + " + " : "",
                       shape.Pixels()));
  std::int64_t inside = 1, step = 1;
  std::string place;
  for (std::size_t d = 3; d-- > 0;) {
    out.Line(fmt::format("const {} column_{} = n / {} % {};", text.index, kAxes[d], inside, shape.dims[d].out));
    place += fmt::format("{}(column_{} * {} + {}) * {}", place.empty() ? "" : " + ", kAxes[d], Phases(d),
                         phase(d).out_start, step);
    inside *= shape.dims[d].out;
    step *= whole_.dims[d].out;
  }
  out.Line(fmt::format("const {} column_place = {};", text.index, place));
}

std::int64_t ConvPhase::SideBySide() const {
  const std::int64_t phases = Phases(2);
  return (phases == 2 || phases == 4) && whole_.dims[2].out % phases == 0 ? phases : 1;
}

std::string ConvPhase::OutputOf(const std::string& m) const {
  return Phases(2) == 1 ? m : fmt::format("{} / {}", m, Phases(2));
}

std::string ConvPhase::IsThere(const std::string& m) const {
  if (whole_.dims[2].out % Phases(2) == 0) return "";
  return fmt::format("column_x * {0} + {1} % {0} < {2}", Phases(2), m, whole_.dims[2].out);
}

bool ConvPhase::ReadsPixels(int operand) const {
  const auto& strides = whole_.strides[static_cast<std::size_t>(operand)];
  for (std::size_t d = 0; d < 3; ++d) {
    if (whole_.dims[d].out > 1 && strides[Convolution::kZ + d] != 0) return true;
  }
  return false;
}

bool ConvPhase::LiesSideBySide(const KernelOperand& reads, int operand) const {
  const auto& strides = whole_.strides[static_cast<std::size_t>(operand)];
  const std::int64_t count = SideBySide();
  for (std::size_t d = 0; d < 2; ++d) {
    if (whole_.dims[d].out > 1 && strides[Convolution::kZ + d] % count != 0) return false;
  }
  return strides[Convolution::kZ + 2] == 1 && reads.offset % count == 0 && strides[Convolution::kN] % count == 0 &&
         strides[Convolution::kO] % count == 0;
}

std::string ConvPhase::Place(const KernelOperand& reads, int operand, const std::vector<std::string>& batches,
                             const std::string& m) const {
  const auto& strides = whole_.strides[static_cast<std::size_t>(operand)];
  std::vector<std::string> places = {"column_image", OutputOf(m)};
  std::vector<std::int64_t> steps = {strides[Convolution::kN], strides[Convolution::kO]};
  const auto add = [&](const std::string& place, std::int64_t step) {
    places.push_back(place);
    steps.push_back(step);
  };
  if (whole_.groups > 1) add(batches.back(), whole_.made * steps[1]);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t step = strides[Convolution::kZ + d];
    if (whole_.dims[d].out == 1) continue;
    add(fmt::format("column_{}", kAxes[d]), step * Phases(d));
    if (d == 2 && Phases(2) > 1)
      add(fmt::format("({} % {})", m, Phases(2)), step);
    else if (phase(d).out_start > 0)
      add(fmt::format("{}", phase(d).out_start), step);
  }
  return Address(places, steps, reads.offset);
}

std::string ConvPhase::Target(const DeviceWriter& out, const std::vector<std::string>& batches,
                              const std::string& m) const {
  const std::string group = whole_.groups == 1 ? "" : fmt::format(" + {} * {}", batches.back(), whole_.made);
  return fmt::format("{}[(column_image * {} + {}{}) * {} + column_place{}]", out.TargetName(),
                     whole_.made * whole_.groups, OutputOf(m), group, whole_.Pixels(),
                     Phases(2) == 1 ? "" : fmt::format(" + {} % {}", m, Phases(2)));
}

}  // namespace hone::dsl
