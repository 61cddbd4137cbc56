#include "dsl/cpu/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/knobs.h"
#include "dsl/shape/pooling.h"

namespace hone::dsl {

namespace {

constexpr std::int64_t kMostRow = 1024;     // elements of a row that is worked on in L1
constexpr std::int64_t kMostUnrolled = 16;  // places of the window written out in the innermost loop

class PoolEmitter {
 public:
  PoolEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer), pool_(kernel) {
    type_ = writer.TypeName(pool_.input->type);
    last_ = pool_.AxisOf(pool_.rank - 1);
  }

  void Emit() {
    const std::size_t inner = pool_.rank - 1;
    const std::int64_t extent = kernel_.space[inner].extent, row = std::min(extent, kMostRow);
    index_.assign(kernel_.space.size(), "0");
    int loops = 0;
    for (std::size_t d = 0; d < inner; ++d) loops += kernel_.space[d].extent > 1 ? 1 : 0;
    if (row < extent) ++loops;
    if (loops > 0) writer_.ParallelFor(loops);
    int open = 0;
    for (std::size_t d = 0; d < inner; ++d) {
      if (kernel_.space[d].extent == 1) continue;
      index_[d] = fmt::format("o{}", d);
      writer_.Open(For(index_[d], kernel_.space[d].extent));
      ++open;
    }
    if (row < extent) {
      writer_.Open(fmt::format("for (long x0 = 0; x0 < {}; x0 += {})", extent, row));
      ++open;
    }
    if (open == 0) {
      writer_.Open("");
      ++open;
    }
    if (row == extent) writer_.Line("constexpr long x0 = 0;");
    writer_.Line(Left("width", extent, "x0", row));
    Limits();
    writer_.Line(fmt::format("alignas(64) {} best[{}];", type_, row));
    if (pool_.arg) writer_.Line(fmt::format("alignas(64) int place[{}];", row));
    const std::string least =
        pool_.input->type == ScalarType::kReal ? writer_.Number(-INFINITY) : "-0x7fffffffffffffffl - 1";
    writer_.Line(fmt::format("for (long l = 0; l < width; ++l) best[l] = {};", pool_.largest ? least : "0"));
    if (pool_.arg) writer_.Line("for (long l = 0; l < width; ++l) place[l] = -1;");
    int windows = 0;
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      if (last_ && a == *last_) continue;
      const WindowDim& dim = pool_.dims[a];
      std::string k = "0";
      if (dim.window > 1 || Leaves(dim)) {
        k = fmt::format("k{}_at", a);
        writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", k, low_[a], k, high_[a], k));
        ++windows;
      }
      SetPlace(a, index_[pool_.axes[a]], k);
    }
    if (last_) {
      EmitRow(*last_);
    } else {
      index_[inner] = "x0 + l";
      writer_.Line("#pragma omp simd");
      writer_.Open("for (long l = 0; l < width; ++l)");
      Take("best[l]", "place[l]");
      writer_.Close();
    }
    for (; windows > 0; --windows) writer_.Close();

    writer_.Line("#pragma omp simd");
    writer_.Open("for (long l = 0; l < width; ++l)");
    index_[inner] = "x0 + l";
    std::string it = "best[l]";
    if (pool_.arg) it = "static_cast<long>(place[l])";
    if (kernel_.variant == "mean") {
      writer_.Line(fmt::format("const {} count = {};", writer_.real(), Divisor()));
      writer_.Line(fmt::format("const {} value = best[l] / count;", writer_.real()));
      it = "value";
    }
    ExprWriter text(writer_,
                    [&](const ExprNode& load) { return load.kind == Expr::Kind::kValue ? it : Element(load.buffer); });
    const std::string value = text.Text(kernel_.epilogue);
    std::vector<std::int64_t> strides(pool_.rank);
    std::int64_t step = 1;
    for (std::size_t d = pool_.rank; d-- > 0; step *= kernel_.space[d].extent) strides[d] = step;
    const std::vector<std::string> place(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(pool_.rank));
    writer_.Line(fmt::format("{}[{}] = {};", writer_.TargetName(), Address(place, strides, 0), value));
    writer_.Close();
    for (; open > 0; --open) writer_.Close();
  }

 private:
  static bool Leaves(const WindowDim& dim) { return PhaseOf(dim).Leaves(); }

  // Constants "low" and "high" for the places of the window that are inside, along the axes that stay for a whole row.
  void Limits() {
    low_.assign(pool_.axes.size(), "0");
    high_.assign(pool_.axes.size(), "");
    start_.assign(pool_.axes.size(), "");
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      const WindowDim& dim = pool_.dims[a];
      high_[a] = fmt::format("{}", dim.window);
      if (last_ && a == *last_) continue;
      const std::string& o = index_[pool_.axes[a]];
      std::string start = o == "0" ? "0" : dim.stride == 1 ? o : fmt::format("{} * {}", o, dim.stride);
      if (dim.padding) start += fmt::format(" - {}", dim.padding);
      if (!Leaves(dim)) continue;
      start_[a] = fmt::format("start{}_at", a);
      low_[a] = fmt::format("low{}_at", a);
      high_[a] = fmt::format("high{}_at", a);
      writer_.Line(fmt::format("const long {} = {};", start_[a], start));
      const std::string up = dim.dilation > 1 ? fmt::format(" + {}) / {}", dim.dilation - 1, dim.dilation) : ")";
      writer_.Line(fmt::format("const long {} = {} < 0 ? (-{}{} : 0;", low_[a], start_[a], start_[a], up));
      const std::string room = fmt::format("({} - {}{}", dim.in, start_[a], up);
      writer_.Line(fmt::format("const long {} = {} < {} ? {} : {};", high_[a], room, dim.window, room, dim.window));
    }
  }

  // Sets the index of the input along axis a: output `o`, place `k` of the window.
  void SetPlace(std::size_t a, const std::string& o, const std::string& k) {
    const WindowDim& dim = pool_.dims[a];
    std::string place = Plus(Scaled(o, dim.stride), Scaled(k, dim.dilation));
    if (dim.padding) place += fmt::format(" - {}", dim.padding);
    if (dim.in == 1) place = "0";
    index_[pool_.Window(a)] = k;
    index_[pool_.Place(a)] = place;
  }

  std::string Element(int operand) const {
    const auto& view = kernel_.operands[static_cast<std::size_t>(operand)];
    return ElementText(program_, kernel_, writer_, operand, index_, view.strides, view.offset);
  }

  // Takes the input's element at `index_` into the value (and place) of an output.
  void Take(const std::string& best, const std::string& place) {
    ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer); });
    const std::string value = text.Text(pool_.input);
    if (!pool_.largest) {
      writer_.Line(fmt::format("{} += {};", best, value));
      return;
    }
    if (!pool_.arg) {
      const bool real = pool_.input->type == ScalarType::kReal;
      const std::string taken = writer_.Fresh("taken");
      writer_.Line(fmt::format("const {} {} = {};", type_, taken, value));
      writer_.Line(real ? fmt::format("{} = {}({}, {});", best, writer_.Helper("Max"), best, taken)
                        : fmt::format("{} = {} > {} ? {} : {};", best, best, taken, best, taken));
      return;
    }
    // The first of the largest, or the first NaN.
    const std::string taken = writer_.Fresh("taken"), more = writer_.Fresh("more");
    std::string flat = "0";
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      const std::string& at = index_[pool_.Place(a)];
      flat = flat == "0" ? at : fmt::format("({}) * {} + {}", flat, pool_.dims[a].in, at);
    }
    writer_.Line(fmt::format("const {} {} = {};", type_, taken, value));
    writer_.Line(fmt::format("const bool {} = ({} > {}) | ({} < 0) | (({} != {}) & ({} == {}));", more, taken, best,
                             place, taken, taken, best, best));
    writer_.Line(fmt::format("{} = {} ? {} : {};", best, more, taken, best));
    writer_.Line(fmt::format("{} = {} ? static_cast<int>({}) : {};", place, more, flat, place));
  }

  // All places of the window along the innermost dimension, for the outputs of a row.
  void EmitRow(std::size_t a) {
    const WindowDim& dim = pool_.dims[a];
    // Outputs whose whole window is inside.
    std::int64_t low = (dim.padding + dim.stride - 1) / dim.stride;
    const std::int64_t room = dim.in + dim.padding - (dim.window - 1) * dim.dilation - 1;
    std::int64_t high = room < 0 ? 0 : std::min(dim.out, room / dim.stride + 1);
    low = std::min(low, dim.out);
    high = std::max(high, low);
    const bool whole = kernel_.space[pool_.rank - 1].extent <= kMostRow;
    const auto bound = [&](std::int64_t at) {
      if (whole) return fmt::format("{}", at);
      const std::string shifted = fmt::format("({} - x0)", at);
      return fmt::format("({} < 0 ? 0 : {} > width ? width : {})", shifted, shifted, shifted);
    };
    const auto ends = [&](const std::string& from, const std::string& to) {
      writer_.Open(fmt::format("for (long l = {}; l < {}; ++l)", from, to));
      writer_.Open(fmt::format("for (long t = 0; t < {}; ++t)", dim.window));
      SetPlace(a, "x0 + l", "t");
      const std::string at = index_[pool_.Place(a)];
      writer_.Line(fmt::format("const long ix = {};", at));
      writer_.Line(fmt::format("if (ix < 0 || ix >= {}) continue;", dim.in));
      index_[pool_.Place(a)] = "ix";
      Take("best[l]", "place[l]");
      writer_.Close();
      writer_.Close();
    };
    if (low > 0) {
      writer_.Comment("Windows that begin before the input.");
      ends("0", bound(low));
    }
    if (low < high) {
      if (dim.window > kMostUnrolled) writer_.Open(fmt::format("for (long t = 0; t < {}; ++t)", dim.window));
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long l = {}; l < {}; ++l)", bound(low), bound(high)));
      writer_.Line(fmt::format("{} most = best[l];", type_));
      if (pool_.arg) writer_.Line("int where = place[l];");
      if (dim.window > kMostUnrolled) {
        SetPlace(a, "x0 + l", "t");
        Take("most", "where");
      } else {
        for (std::int64_t t = 0; t < dim.window; ++t) {
          SetPlace(a, "x0 + l", fmt::format("{}", t));
          Take("most", "where");
        }
      }
      writer_.Line("best[l] = most;");
      if (pool_.arg) writer_.Line("place[l] = where;");
      writer_.Close();
      if (dim.window > kMostUnrolled) writer_.Close();
    }
    if (high < dim.out) {
      writer_.Comment("Windows that end behind the input.");
      ends(bound(high), "width");
    }
  }

  // How many elements a mean is of.
  std::string Divisor() {
    std::int64_t constant = 1;
    std::vector<std::string> factors;
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      const WindowDim& dim = pool_.dims[a];
      // Beyond the input, and beyond as much padding behind it as in front.
      const std::int64_t from = pool_.inside == 2 ? -dim.padding : 0,
                         to = pool_.inside == 2 ? dim.in + dim.padding : dim.in;
      const std::int64_t end = (dim.out - 1) * dim.stride - dim.padding + (dim.window - 1) * dim.dilation + 1;
      if (pool_.inside == 0 || (-dim.padding >= from && end <= to)) {
        constant *= dim.window;
        continue;
      }
      const std::string o = last_ && a == *last_ ? "(x0 + l)" : index_[pool_.axes[a]];
      const std::string first = writer_.Fresh("first"), above = writer_.Fresh("above"), below = writer_.Fresh("below"),
                        inside = writer_.Fresh("within");
      writer_.Line(fmt::format("const long {} = {} * {} - {};", first, o, dim.stride, dim.padding));
      // Places k with from <= first + k * dilation < to.
      writer_.Line(fmt::format("const long {} = {} < {} ? ({} - {} + {}) / {} : 0;", below, first, from, from, first,
                               dim.dilation - 1, dim.dilation));
      writer_.Line(
          fmt::format("const long {} = ({} - {} + {}) / {};", above, to, first, dim.dilation - 1, dim.dilation));
      writer_.Line(fmt::format("const long {} = ({} < {} ? {} : {}) - {};", inside, above, dim.window, above,
                               dim.window, below));
      factors.push_back(inside);
    }
    const std::string number = writer_.Number(static_cast<double>(constant));
    if (factors.empty()) return number;
    return fmt::format("{} * static_cast<{}>({})", number, writer_.real(), fmt::join(factors, " * "));
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  Pooling pool_;
  std::string type_;
  std::optional<std::size_t> last_;  // the axis that is innermost, if it is pooled
  std::vector<std::string> index_, low_, high_, start_;
};

}  // namespace

void EmitPooling(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  PoolEmitter(program, kernel, writer).Emit();
}

}  // namespace hone::dsl
