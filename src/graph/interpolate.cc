#include "graph/interpolate.h"

#include <bit>
#include <cmath>
#include <numeric>

namespace hone {
namespace {

struct Fraction {
  std::int64_t over = 1, under = 1;
};

// The fraction with the smallest denominator within 1e-12 of x, found by its continued fraction.
Fraction NearestFraction(double x) {
  std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = x;
  for (int i = 0; i < 40; ++i) {
    const double whole = std::floor(rest);
    if (whole > 1e9) break;
    const auto a = static_cast<std::int64_t>(whole);
    const std::int64_t p = a * p1 + p0, q = a * q1 + q0;
    if (q > (1 << 24)) break;
    p0 = p1, q0 = q1, p1 = p, q1 = q;
    if (std::abs(static_cast<double>(p) / static_cast<double>(q) - x) <= 1e-12 * x || rest == whole) break;
    rest = 1 / (rest - whole);
  }
  return {p1, q1};
}

struct Axis {
  std::int64_t in = 1, out = 1;
  Fraction step;  // of the source a step of the result
};

// The place of an element of the result, between those of the source: (at * factor + more) / under.
struct Ratio {
  std::int64_t factor = 1, more = 0, under = 1;
};
Ratio RatioOf(const Axis& axis, Interpolation how, bool align_corners) {
  const auto [over, under] = axis.step;
  if (how == Interpolation::kNearest) return {over, 0, under};
  if (how == Interpolation::kNearestExact) return {2 * over, over, 2 * under};
  if (align_corners) return {axis.out > 1 ? axis.in - 1 : 0, 0, axis.out > 1 ? axis.out - 1 : 1};
  return {2 * over, over - under, 2 * under};
}

// The same in real numbers, which round it.
Expr CoordinateOf(const Axis& axis, const Expr& at, Interpolation how, bool align_corners) {
  const Expr place = Cast(at, ScalarType::kReal);
  const double step = static_cast<double>(axis.step.over) / static_cast<double>(axis.step.under);
  if (how == Interpolation::kNearest) return place * step;
  if (how == Interpolation::kNearestExact) return (place + 0.5) * step;
  if (align_corners)
    return place * (axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0.0);
  const Expr coordinate = (place + 0.5) * step - 0.5;
  return how == Interpolation::kLinear ? Max(coordinate, 0.0) : coordinate;
}

// A place between elements: `whole`, and `part` of a step behind it. Reals hold places whose denominator is a power of
// two; others round, and what does round may find a place before `whole` that is exactly there.
struct Place {
  Expr whole, part;
  bool may_be_before = false;  // some place may
};

Place PlaceOf(const Axis& axis, const Expr& at, Interpolation how, bool align_corners) {
  const auto [factor, more, under] = RatioOf(axis, how, align_corners);
  Expr over = at * factor + more;
  if (how == Interpolation::kLinear) over = Max(over, 0);
  const Expr whole = Apply(BinaryOp::kFloorDiv, over, under);
  if (std::has_single_bit(static_cast<std::uint64_t>(under))) {
    const Expr rest = Apply(BinaryOp::kFloorMod, over, under);
    return {whole, Cast(rest, ScalarType::kReal) / static_cast<double>(under)};
  }
  Place place{whole, CoordinateOf(axis, at, how, align_corners) - Cast(whole, ScalarType::kReal)};
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const std::int64_t exact = i * factor + more;
    place.may_be_before |= exact > 0 && exact % under == 0;
  }
  return place;
}

Expr CubicWeight(const Expr& t, int neighbour) {
  constexpr double a = -0.75;
  const auto near = [](const Expr& x) { return ((Expr(a + 2) * x - (a + 3)) * x) * x + 1.0; };
  const auto far = [](const Expr& x) { return ((Expr(a) * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  switch (neighbour) {
    case 0: return far(t + 1.0);
    case 1: return near(t);
    case 2: return near(Expr(1.0) - t);
    default: return far(Expr(2.0) - t);
  }
}

// The spatial dimensions of x [n, c, ...]; none where an argument is bad.
std::vector<Axis> AxesOf(OpCall& call, const Operand& x, int spatial) {
  const auto bad = [&](std::string_view why) {
    call.Fail(std::string(why));
    return std::vector<Axis>();
  };
  if (call.failed()) return {};
  if (x.rank() != spatial + 2) return bad("needs [n, c, ...]");
  std::vector<std::optional<double>> scales(static_cast<std::size_t>(spatial));
  constexpr std::string_view kNames[] = {"scales_d", "scales_h", "scales_w"};
  for (int d = 0; d < spatial; ++d) {
    const std::string_view name = spatial == 1 ? "scales" : kNames[d + 3 - spatial];
    if (call.Has(name)) scales[static_cast<std::size_t>(d)] = call.Real(name);
  }
  if (call.Has("scale_factors")) {
    const auto given = call.Reals("scale_factors");
    if (given.size() != scales.size()) return bad("scale_factors needs one number a spatial dimension");
    std::copy(given.begin(), given.end(), scales.begin());
  }
  std::vector<std::int64_t> sizes;
  if (call.Has("output_size")) sizes = call.Ints("output_size");
  for (std::size_t d = 0; sizes.empty() && d < scales.size(); ++d) {
    if (!scales[d]) return bad("needs output_size or scale_factors");
  }
  if (sizes.empty()) {
    for (int d = 0; d < spatial; ++d) {
      sizes.push_back(static_cast<std::int64_t>(
          std::floor(static_cast<double>(x.dim(d + 2)) * *scales[static_cast<std::size_t>(d)])));
    }
  }
  if (static_cast<int>(sizes.size()) != spatial) return bad("output_size needs one number a spatial dimension");
  std::vector<Axis> axes;
  for (int d = 0; d < spatial; ++d) {
    const auto i = static_cast<std::size_t>(d);
    Axis axis{x.dim(d + 2), sizes[i], {}};
    if (axis.in < 1 || axis.out < 1) return bad("needs extents of at least 1");
    if (scales[i] && *scales[i] > 0) {
      axis.step = NearestFraction(1 / *scales[i]);
    } else {
      const std::int64_t common = std::gcd(axis.in, axis.out);
      axis.step = {axis.in / common, axis.out / common};
    }
    axes.push_back(axis);
  }
  return axes;
}

// The weight of an element at `distance` from the middle of a window, in steps of the result where those are larger;
// Keys' cubic with a = -0.5 here, as PyTorch has it.
Expr WindowWeight(const Expr& distance, Interpolation how) {
  const Expr x = Abs(distance);
  if (how == Interpolation::kLinear) return Max(Expr(1.0) - x, 0.0);
  constexpr double a = -0.5;
  const Expr near = ((Expr(a + 2) * x - (a + 3)) * x) * x + 1.0, far = ((Expr(a) * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return Select(Less(x, 1.0), near, Select(Less(x, 2.0), far, 0.0));
}

// Along one dimension: all elements under the window of an output, with weights that come to 1. The weights of an
// output are made once for all lines that have it.
class SmoothWindow {
 public:
  SmoothWindow(OpCall& call, const Axis& axis, Interpolation how, DType dtype)
      : axis_(axis),
        how_(how),
        widest_(std::max(axis.step.over, axis.step.under)),
        reach_(2 * widest_ * (how == Interpolation::kLinear ? 1 : 2)),
        taps_{(reach_ + axis.step.under - 1) / axis.step.under + 1} {
    weights_ = call.Let("weights", {axis.out, taps_[0]}, dtype, [&](Indices at) {
      return Weight(at[0], at[1]) / Fold(ReduceOp::kSum, taps_, [&](Indices tap) { return Weight(at[0], tap[0]); });
    });
  }

  Expr Sum(const Expr& at, const std::function<Expr(const Expr&)>& element) const {
    return Fold(ReduceOp::kSum, taps_, [&](Indices tap) {
      const Expr index = Index(at, tap[0]);
      return Select(IsInside(index), weights_({at, tap[0]}) * element(index), 0.0);
    });
  }

 private:
  // Distances are whole in halves of 1 / step.under.
  Expr Middle(const Expr& at) const { return (at * 2 + 1) * axis_.step.over; }
  Expr Index(const Expr& at, const Expr& tap) const {
    return Apply(BinaryOp::kFloorDiv, Middle(at) - reach_, 2 * axis_.step.under) + tap;
  }
  Expr IsInside(const Expr& index) const { return And(LessEqual(Expr(std::int64_t{0}), index), Less(index, axis_.in)); }
  Expr Weight(const Expr& at, const Expr& tap) const {
    const Expr index = Index(at, tap), away = (index * 2 + 1) * axis_.step.under - Middle(at);
    const Expr weight = WindowWeight(Cast(away, ScalarType::kReal) / static_cast<double>(2 * widest_), how_);
    return Select(IsInside(index), weight, 0.0);
  }

  Axis axis_;
  Interpolation how_;
  std::int64_t widest_, reach_;  // of a step, in 1 / step.under; of the window on either side, in halves of that
  std::vector<std::int64_t> taps_;
  Operand weights_;
};

}  // namespace

Expr CubicSum(const Expr& t, const std::function<Expr(int)>& neighbour) {
  Expr sum;
  for (int i = 0; i < 4; ++i) {
    const Expr term = CubicWeight(t, i) * neighbour(i);
    sum = sum ? sum + term : term;
  }
  return sum;
}

void DefineInterpolation(OpCall& call, Interpolation how, int spatial) {
  const Operand x = call.Tensor(call.Has("self") ? "self" : "input");
  const bool align_corners = call.Bool("align_corners", false);
  std::vector<Axis> axes = AxesOf(call, x, spatial);
  if (axes.empty()) return;
  Shape shape = {x.dim(0), x.dim(1)};
  for (Axis& axis : axes) {
    if (how == Interpolation::kNearest && axis.in == axis.out) axis.step = {1, 1};
    shape.push_back(axis.out);
  }
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    // Separable: one dimension after another.
    const std::function<Expr(std::size_t)> value = [&](std::size_t d) -> Expr {
      if (d == axes.size()) return x(full);
      const Place place = PlaceOf(axes[d], at[d + 2], how, align_corners);
      const auto element = [&](const Expr& index) {
        full[d + 2] = index;
        return value(d + 1);
      };
      const std::int64_t last = axes[d].in - 1;
      const auto inside = [&](const Expr& index) { return Max(Min(index, last), 0); };
      const Expr& t = place.part;
      if (how == Interpolation::kNearest || how == Interpolation::kNearestExact) {
        const Expr own = element(inside(place.whole));
        return place.may_be_before ? Select(Less(t, 0.0), element(inside(place.whole - 1)), own) : own;
      }
      if (how == Interpolation::kLinear) {
        // Past the last element there is no second one: half of the pair has no weight.
        const Expr first = element(inside(place.whole)), second = element(inside(place.whole + 1));
        if (!place.may_be_before) return (Expr(1.0) - t) * first + t * second;
        const Expr before = element(inside(place.whole - 1));
        return Max(-t, 0.0) * before + (Expr(1.0) - Abs(t)) * first + Max(t, 0.0) * second;
      }
      return CubicSum(t, [&](int i) { return element(inside(place.whole + (i - 1))); });
    };
    return value(0);
  });
}

void DefineSmoothInterpolation(OpCall& call, Interpolation how) {
  const Operand x = call.Tensor(call.Has("self") ? "self" : "input");
  std::vector<Axis> axes = AxesOf(call, x, 2);
  if (axes.empty()) return;
  if (call.Bool("align_corners", false)) {
    for (Axis& axis : axes) axis.step = axis.out > 1 ? Fraction{axis.in - 1, axis.out - 1} : Fraction{0, 1};
  }
  const DType dtype = KeptIn(x.dtype());
  const SmoothWindow along(call, axes[1], how, dtype), down(call, axes[0], how, dtype);
  const Operand across = call.Let("across", {x.dim(0), x.dim(1), x.dim(2), axes[1].out}, dtype, [&](Indices at) {
    return along.Sum(at[3], [&](const Expr& index) { return x({at[0], at[1], at[2], index}); });
  });
  call.Output({x.dim(0), x.dim(1), axes[0].out, axes[1].out}, x.dtype(), [&](Indices at) {
    return down.Sum(at[2], [&](const Expr& index) { return across({at[0], at[1], index, at[3]}); });
  });
}

}  // namespace hone
