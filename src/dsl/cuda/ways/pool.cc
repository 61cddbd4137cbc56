// Writes pools for CUDA. Threads side by side fold the columns of a window first, each its own neighbouring elements of
// every row that the window reaches, read as packs; a column serves several outputs down the axis before the innermost
// one, whose windows overlap. What the columns hold goes through shared memory, where every output of the row folds
// those of its window. So an element is read from memory about once, whatever the window's width.
//
// One file because a way is one: the settings below are cuts of what is written here.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/loops.h"
#include "dsl/shape/pooling.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_pool {
namespace {

constexpr std::int64_t kMostColumns = 2048;      // of a row that is taken in one piece
constexpr std::int64_t kStripColumns = 1024;     // of a piece of a longer one
constexpr std::int64_t kSharedBytes = 48 << 10;  // that every block may have
constexpr std::int64_t kMostRows = 32;           // whose loads are written out
constexpr std::int64_t kManyElements = 256;      // of a window: beyond, it is summed in double
constexpr std::int64_t kMostUnrolled = 32;       // elements of a window along the innermost axis

// Along the axis before the innermost: what several outputs of a thread share. One place if there is none.
WindowDim DownOf(const Pooling& pool) {
  for (std::size_t a = pool.axes.size(); a-- > 0;) {
    if (pool.axes[a] + 1 != pool.rank) return pool.dims[a];
  }
  return {};
}
std::int64_t RowsFor(const WindowDim& dim, std::int64_t down) { return (down - 1) * dim.stride + dim.Reach(); }

std::vector<Setting> DownValues(const Kernel& kernel) {
  const WindowDim dim = DownOf(Pooling(kernel));
  std::vector<Setting> values;
  // More outputs of a thread save fewer loads the further apart their windows are. Measured on an H200, 2026-11-21.
  const bool apart = dim.stride > 1 && dim.dilation == 1;
  for (const std::int64_t down : {apart ? 2 : 4, apart ? 4 : 2}) {
    if (dim.Reach() > dim.stride && down <= dim.out && RowsFor(dim, down) <= kMostRows) values.push_back(Whole(down));
  }
  values.push_back(Whole(1));
  return values;
}
std::optional<std::string> CheckDown(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 16)) return why;
  const std::int64_t down = std::get<std::int64_t>(value.value);
  if (down > 1 && RowsFor(DownOf(Pooling(kernel)), down) > kMostRows)
    return fmt::format("their windows reach more than {} rows; try 1", kMostRows);
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"down", "outputs of a thread along the pooled axis before the innermost: their windows overlap", DownValues,
     CheckDown},
    kBlockThreadsKnob,
    kPackKnob,
};

class PoolWriterCuda {
 public:
  PoolWriterCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program), kernel_(kernel), out_(out), pool_(kernel) {
    x_axis_ = pool_.AxisOf(pool_.rank - 1);
    const std::int64_t width = kernel.space[pool_.rank - 1].extent;
    x_ = x_axis_ ? pool_.dims[*x_axis_] : WindowDim{.in = width, .out = width};
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      if (!x_axis_ || a != *x_axis_) y_axis_ = a;
    }
    y_ = DownOf(pool_);
    const ReduceOp op = pool_.largest ? ReduceOp::kMax : ReduceOp::kSum;
    value_type_ = out.Type(pool_.input->type);
    if (!pool_.largest && value_type_ == "float" && pool_.WindowCount() > static_cast<double>(kManyElements))
      value_type_ = "double";
    how_ = out.How(pool_.arg ? ReduceOp::kArgMax : op);
    neutral_ = out.Neutral(pool_.arg ? ReduceOp::kArgMax : op, pool_.input->type);
    type_ = pool_.arg ? fmt::format("Place<{}>", value_type_) : value_type_;
    neutral_ = pool_.arg ? type_ + neutral_ : fmt::format("{}({})", type_, neutral_);
    Cut();
  }

  void Write() {
    out_.BeginKernel("pool", group_ * groups_);
    index_.assign(kernel_.space.size(), "0");
    lane_ = out_.Fresh("lane");
    out_.Line(groups_ == 1 ? fmt::format("const int {} = threadIdx.x;", lane_)
                           : fmt::format("const int {} = threadIdx.x % {};", lane_, group_));
    const std::int64_t units = Units();
    unit_ = out_.Fresh("unit");
    const std::string number =
        groups_ == 1 ? "blockIdx.x" : fmt::format("blockIdx.x * {} + threadIdx.x / {}", groups_, group_);
    if (units % groups_ != 0) {
      // Those without a part of the work do the last one's again, since threads meet; they store nothing.
      const std::string wanted = out_.Fresh("wanted");
      out_.Line(fmt::format("const unsigned {} = {};", wanted, number));
      out_.Line(fmt::format("const unsigned {0} = {1} < {2} ? {1} : {3};", unit_, wanted, units, units - 1));
      valid_ = fmt::format("{} < {}", wanted, units);
    } else {
      out_.Line(fmt::format("const unsigned {} = {};", unit_, number));
    }
    NamePlaces();
    if (shared_) {
      own_ = out_.Fresh("columns");
      const std::string memory = groups_ == 1 ? own_ : out_.Fresh("memory");
      out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type_, memory, groups_ * down_ * columns_));
      if (groups_ > 1)
        out_.Line(
            fmt::format("{}* const {} = {} + threadIdx.x / {} * {};", type_, own_, memory, group_, down_ * columns_));
    }
    FoldColumns();
    if (shared_) {
      out_.Line(group_ <= 32 ? "__syncwarp();" : "__syncthreads();");
      FoldRows();
    }
    out_.Launch({.grid_x = (units + groups_ - 1) / groups_,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  const std::string& index() const { return out_.index_type(); }
  std::int64_t Tiles() const { return (y_.out + down_ - 1) / down_; }
  std::int64_t Strips() const { return (x_.out + strip_ - 1) / strip_; }
  std::int64_t Units() const {
    std::int64_t units = Tiles() * Strips();
    for (const std::size_t d : Outer()) units *= kernel_.space[d].extent;
    return units;
  }
  // The result's dimensions that stay for a whole unit.
  std::vector<std::size_t> Outer() const {
    std::vector<std::size_t> outer;
    for (std::size_t d = 0; d + 1 < pool_.rank; ++d) {
      if (!y_axis_ || d != pool_.axes[*y_axis_]) outer.push_back(d);
    }
    return outer;
  }

  // How a row is cut, and how many threads take a piece of it.
  void Cut() {
    const std::int64_t block = IntSetting(kernel_, "block");
    const bool windowed = x_.window > 1 || x_.stride > 1 || x_.padding > 0 || x_.in != x_.out;
    pack_ = IntSetting(kernel_, "pack");
    while (pack_ > 1 && x_.in % pack_ != 0) pack_ /= 2;
    down_ = std::min(IntSetting(kernel_, "down"), y_.out);
    const std::int64_t element = value_type_ == "float" ? (pool_.arg ? 8 : 4) : pool_.arg ? 16 : 8;
    shift_ = (pack_ - x_.padding % pack_) % pack_;
    const auto columns_for = [&](std::int64_t outputs) {
      return (shift_ + (outputs - 1) * x_.stride + x_.Reach() + pack_ - 1) / pack_ * pack_;
    };
    strip_ = x_.out;
    shared_ = windowed;
    if (!windowed) {
      columns_ = x_.in;
      first_pack_ = 0;
      packs_ = x_.in / pack_;
    } else {
      if (columns_for(strip_) > kMostColumns) {
        // Whole packs from strip to strip.
        const std::int64_t wanted = std::max(kStripColumns, 4 * x_.Reach());
        strip_ = std::max<std::int64_t>((wanted - shift_ - x_.Reach()) / x_.stride + 1, pack_) / pack_ * pack_;
        strip_ = std::min(strip_, x_.out);
      }
      columns_ = columns_for(strip_);
      first_pack_ = 0;
      packs_ = columns_ / pack_;
      if (strip_ == x_.out) {
        // Only what is inside; the rest holds what changes nothing.
        first_pack_ = std::min((shift_ + x_.padding) / pack_, packs_);
        packs_ = std::min(columns_ / pack_ - first_pack_, x_.in / pack_);
      }
      while (down_ > 1 && down_ * columns_ * element > kSharedBytes) down_ /= 2;
      if (down_ * columns_ * element > kSharedBytes) {
        // A window wider than what fits: every thread reads all of its outputs' windows.
        shared_ = false;
        direct_ = true;
        pack_ = 1;
        strip_ = columns_ = packs_ = x_.out;
        first_pack_ = shift_ = 0;
      }
    }
    group_ = std::min(block, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(packs_))));
    if (!std::has_single_bit(static_cast<std::uint64_t>(group_))) group_ = block;
    groups_ = std::max<std::int64_t>(block / group_, 1);
    while (shared_ && groups_ > 1 && groups_ * down_ * columns_ * element > kSharedBytes) groups_ /= 2;
    if (group_ * groups_ < 32) groups_ = 32 / group_;
  }

  // --- Places.

  void NamePlaces() {
    std::string left = unit_;
    const auto part = [&](const std::string& hint, std::int64_t extent, bool last) -> std::string {
      if (extent == 1) return "0";
      const std::string name = out_.Fresh(hint);
      out_.Line(fmt::format("const {} {} = {};", index(), name, last ? left : fmt::format("{} % {}", left, extent)));
      left = fmt::format("({} / {})", left, extent);
      return name;
    };
    const auto outer = Outer();
    std::size_t last = outer.size();  // the first dimension that counts takes what is left
    for (std::size_t n = outer.size(); n-- > 0;) {
      if (kernel_.space[outer[n]].extent > 1) last = n;
    }
    strip_name_ = part("strip", Strips(), last == outer.size() && Tiles() == 1);
    tile_name_ = part("tile", Tiles(), last == outer.size());
    for (std::size_t n = outer.size(); n-- > 0;)
      index_[outer[n]] = part(fmt::format("o{}", outer[n]), kernel_.space[outer[n]].extent, n == last);
    if (y_axis_) {
      first_row_ = out_.Fresh("first_row");
      out_.Line(
          fmt::format("const {} {} = {} * {} - {};", index(), first_row_, tile_name_, down_ * y_.stride, y_.padding));
    }
  }

  // Whether some place of these outputs' windows is outside.
  static bool Leaves(const WindowDim& dim, std::int64_t outputs) {
    return dim.padding > 0 || (outputs - 1) * dim.stride - dim.padding + dim.Reach() > dim.in;
  }

  // --- Columns.

  void FoldColumns() {
    const std::int64_t all = columns_ / pack_;
    if (shared_ && packs_ < all) {
      // What lies outside on both sides.
      const std::string q = out_.Fresh("q"), d = out_.Fresh("d");
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", q, lane_, (all - packs_) * pack_, group_));
      out_.Unroll();
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0} * {3} + {4}] = {5};", d, down_, own_, columns_,
                            first_pack_ == 0
                                ? fmt::format("{} + {}", q, packs_ * pack_)
                                : fmt::format("({0} < {1} ? {0} : {0} + {2})", q, first_pack_ * pack_, packs_ * pack_),
                            neutral_));
      out_.Close();
    }
    const std::string pack = out_.Fresh("pack");
    const bool once = packs_ == group_;
    if (once) {
      out_.Line(fmt::format("const int {} = {};", pack, lane_));
    } else {
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", pack, lane_, packs_, group_));
    }
    // `place`: of the pack in the row; `column_`: in the input, somewhere in it if the pack is outside.
    std::string place = pack_ > 1 ? fmt::format("{} * {}", pack, pack_) : pack;
    if (first_pack_ > 0) place += fmt::format(" + {}", first_pack_ * pack_);
    const std::string best = out_.Fresh("best"), d = out_.Fresh("d"), e = out_.Fresh("e");
    out_.Line(fmt::format("{} {}[{}][{}];", type_, best, down_, pack_));
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, down_));
    out_.Unroll();
    out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] = {4};", e, pack_, best, d, neutral_));
    out_.Close();
    column_ = out_.Fresh("column");
    std::string inside, step;
    if (direct_) {
      step = out_.Fresh("step");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", step, x_.window));
      out_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2}) * {3} + {4} * {5} - {6};", index(), column_, pack,
                            x_.stride, step, x_.dilation, x_.padding));
      if (Leaves(x_, x_.out)) out_.Line(fmt::format("if ({0} < 0 || {0} >= {1}) continue;", column_, x_.in));
    } else if (shared_ && strip_ < x_.out) {
      const std::string wanted = out_.Fresh("wanted_column");
      inside = out_.Fresh("inside");
      out_.Line(fmt::format("const {} {} = {} * {} - {} + {};", index(), wanted, strip_name_, strip_ * x_.stride,
                            shift_ + x_.padding, place));
      out_.Line(fmt::format("const bool {0} = {1} >= 0 && {1} < {2};", inside, wanted, x_.in));
      out_.Line(fmt::format("const {} {} = {} ? {} : 0;", index(), column_, inside, wanted));
    } else {
      const std::int64_t from = shared_ ? first_pack_ * pack_ - shift_ - x_.padding : 0;  // of pack 0, 0 or more
      out_.Line(fmt::format("const {} {} = {}{};", index(), column_,
                            pack_ > 1 ? fmt::format("{} * {}", pack, pack_) : pack,
                            from > 0 ? fmt::format(" + {}", from) : ""));
    }
    FoldWindow(best);
    if (direct_) out_.Close();
    if (shared_) {
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, down_));
      out_.Unroll();
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3} * {4} + {5} + {0}] = {6};", e, pack_, own_, d,
                            columns_, place,
                            inside.empty() ? fmt::format("{}[{}][{}]", best, d, e)
                                           : fmt::format("{} ? {}[{}][{}] : {}", inside, best, d, e, neutral_)));
      out_.Close();
    } else {
      StoreColumns(best, direct_ ? pack : column_);
    }
    if (!once) out_.Close();
  }

  // Takes all rows that the windows of `best` reach, at the columns from `column_` on.
  void FoldWindow(const std::string& best) {
    int open = 0;
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      if ((x_axis_ && a == *x_axis_) || (y_axis_ && a == *y_axis_)) continue;
      const WindowDim& dim = pool_.dims[a];
      std::string k = "0";
      if (dim.window > 1) {
        k = out_.Fresh("k");
        out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, dim.window));
        ++open;
      }
      const std::string place = out_.Fresh("place");
      out_.Line(fmt::format("const {} {} = {} * {} + {} * {} - {};", index(), place, index_[pool_.axes[a]], dim.stride,
                            k, dim.dilation, dim.padding));
      if (Leaves(dim, dim.out)) {
        // A plane that is not there.
        out_.Open(fmt::format("if ({0} >= 0 && {0} < {1})", place, dim.in));
        ++open;
      }
      index_[pool_.Place(a)] = place;
    }
    if (x_axis_)
      index_[pool_.Place(*x_axis_)] = column_;
    else
      index_[pool_.rank - 1] = column_;
    std::string row, inside;
    bool looped = false;
    if (y_axis_) {
      const std::int64_t rows = down_ == 1 ? y_.window : RowsFor(y_, down_);
      row = "0";
      if (rows > 1) {
        looped = true;
        row = out_.Fresh("row");
        out_.Line(rows <= kMostRows ? "#pragma unroll" : "#pragma unroll 8");
        out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", row, rows));
        if (down_ > 1 && (y_.dilation > 1 || y_.stride > y_.window))
          out_.Line(fmt::format("if (!({})) continue;", Wanted(row)));
      }
      const std::string at = out_.Fresh("y");
      const std::string step = down_ == 1 && y_.dilation > 1 ? fmt::format("{} * {}", row, y_.dilation) : row;
      if (Leaves(y_, Tiles() * down_)) {
        // A row outside is read as the first one and not taken, so that loads need not wait for a branch.
        const std::string wanted = out_.Fresh("wanted_row");
        inside = out_.Fresh("there");
        out_.Line(fmt::format("const {} {} = {} + {};", index(), wanted, first_row_, step));
        out_.Line(fmt::format("const bool {0} = {1} >= 0 && {1} < {2};", inside, wanted, y_.in));
        out_.Line(fmt::format("const {} {} = {} ? {} : 0;", index(), at, inside, wanted));
      } else {
        out_.Line(fmt::format("const {} {} = {} + {};", index(), at, first_row_, step));
      }
      index_[pool_.Place(*y_axis_)] = at;
    }
    Take(best, row, inside);
    if (looped) out_.Close();
    for (; open > 0; --open) out_.Close();
  }

  // Whether some output of the thread wants the row: known when the loop is unrolled.
  std::string Wanted(const std::string& row) const {
    std::string text;
    for (std::int64_t d = 0; d < down_; ++d)
      text += (d ? " || " : "") + Window(fmt::format("({} - {})", row, d * y_.stride));
    return text;
  }
  std::string Window(const std::string& step) const {
    return y_.dilation == 1
               ? fmt::format("({0} >= 0 && {0} < {1})", step, y_.window)
               : fmt::format("({0} >= 0 && {0} % {1} == 0 && {0} / {1} < {2})", step, y_.dilation, y_.window);
  }

  // The pack at index_.
  void Take(const std::string& best, const std::string& row, const std::string& inside) {
    std::map<int, std::string> packs;
    if (pack_ > 1) {
      Visit(pool_.input, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || packs.contains(node.buffer)) return;
        if (!LoadsPacks(node.buffer)) return;
        const int buffer = kernel_.operands[static_cast<std::size_t>(node.buffer)].buffer;
        const std::string type =
            PackType(out_, DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), pack_);
        const std::string name = out_.Fresh(out_.BufferName(buffer) + "_pack");
        out_.Line(
            fmt::format("const {} {} = {};", type, name, PackText(type, out_.BufferName(buffer), Place(node.buffer))));
        packs[node.buffer] = name;
      });
    }
    const std::string e = out_.Fresh("e");
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack_));
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
      if (const auto it = packs.find(load.buffer); it != packs.end())
        return LoadedText(out_, buffer, fmt::format("{}.at[{}]", it->second, e));
      std::string& inner = index_[x_axis_ ? pool_.Place(*x_axis_) : pool_.rank - 1];
      const std::string before = inner;
      if (pack_ > 1) inner = fmt::format("({} + {})", before, e);
      const std::string text = fmt::format("{}[{}]", out_.BufferName(buffer), Place(load.buffer));
      inner = before;
      return LoadedText(out_, buffer, text);
    });
    const std::string value = expr.Text(pool_.input), taken = out_.Fresh("taken");
    std::string made = fmt::format("{}({})", value_type_, value);
    if (pool_.arg) made = fmt::format("{}{{{}, {}}}", type_, made, Flat(pack_ > 1 ? " + " + e : ""));
    if (!inside.empty()) made = fmt::format("{} ? {} : {}", inside, made, neutral_);
    out_.Line(fmt::format("const {} {} = {};", type_, taken, made));
    if (down_ == 1) {
      out_.Line(Combined(fmt::format("{}[0][{}]", best, e), taken));
    } else {
      const std::string d = out_.Fresh("d");
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, down_));
      const std::string step = out_.Fresh("step");
      out_.Line(fmt::format("const int {} = {} - {} * {};", step, row, d, y_.stride));
      out_.Line(fmt::format("if ({}) {}", Window(step), Combined(fmt::format("{}[{}][{}]", best, d, e), taken)));
      out_.Close();
    }
    out_.Close();
  }
  std::string Combined(const std::string& best, const std::string& taken) const {
    return fmt::format("{0} = {1}::Of({0}, {2});", best, how_, taken);
  }
  // The number of the input's place among those of the pooled axes.
  std::string Flat(const std::string& further) const {
    std::string flat = "0";
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      std::string at = index_[pool_.Place(a)];
      if (x_axis_ && a == *x_axis_) at += further;
      flat = flat == "0" ? at : fmt::format("({}) * {} + {}", flat, pool_.dims[a].in, at);
    }
    return fmt::format("static_cast<int>({})", flat);
  }

  std::string Place(int operand) const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(operand)];
    return Address(index_, view.strides, view.offset);
  }
  bool LoadsPacks(int operand) const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(operand)];
    const std::size_t inner = x_axis_ ? pool_.Place(*x_axis_) : pool_.rank - 1;
    if (view.strides[inner] != 1 || view.offset % pack_ != 0) return false;
    for (std::size_t d = 0; d < view.strides.size(); ++d) {
      if (d != inner && view.strides[d] % pack_ != 0) return false;
    }
    return true;
  }

  // --- Results.

  // The outputs at all places of the piece of the row, each from the columns of its window.
  void FoldRows() {
    const std::string d = down_ > 1 ? out_.Fresh("d") : "0";
    const std::string o = out_.Fresh("o"), all = out_.Fresh("all");
    if (down_ > 1) {
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, down_));
    }
    OpenDown(d);
    out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", o, lane_, strip_, group_));
    if (strip_ < x_.out) {
      const std::string x = out_.Fresh("x_out");
      out_.Line(fmt::format("const {} {} = {} * {} + {};", index(), x, strip_name_, strip_, o));
      if (x_.out % strip_ != 0) out_.Line(fmt::format("if ({} >= {}) break;", x, x_.out));
      index_[pool_.rank - 1] = x;
    } else {
      index_[pool_.rank - 1] = o;
    }
    std::string first = x_.stride > 1 ? fmt::format("{} * {}", o, x_.stride) : o;
    if (shift_ > 0) first += fmt::format(" + {}", shift_);
    if (down_ > 1) first += fmt::format(" + {} * {}", d, columns_);
    out_.Line(fmt::format("{} {} = {}[{}];", type_, all, own_, first));
    if (x_.window > 1) {
      const std::string k = out_.Fresh("k");
      out_.Line(x_.window <= kMostUnrolled ? "#pragma unroll" : "#pragma unroll 8");
      out_.Line(fmt::format("for (int {0} = 1; {0} < {1}; ++{0}) {2}", k, x_.window,
                            Combined(all, fmt::format("{}[{} + {} * {}]", own_, first, k, x_.dilation))));
    }
    if (!valid_.empty()) out_.Open(fmt::format("if ({})", valid_));
    const std::string value = Finished(all);
    out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), TargetPlace(), value));
    if (!valid_.empty()) out_.Close();
    out_.Close();
    CloseDown();
    if (down_ > 1) out_.Close();
  }

  // A column of windows is an output by itself.
  void StoreColumns(const std::string& best, const std::string& x) {
    const std::string d = down_ > 1 ? out_.Fresh("d") : "0";
    if (down_ > 1) {
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, down_));
    }
    OpenDown(d);
    if (!valid_.empty()) out_.Open(fmt::format("if ({})", valid_));
    index_[pool_.rank - 1] = x;
    if (pack_ == 1) {
      const std::string value = Finished(fmt::format("{}[{}][0]", best, d));
      out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), TargetPlace(), value));
    } else {
      const std::string type = DeviceType(program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype);
      const std::string made = out_.Fresh("made"), e = out_.Fresh("e"), to = TargetPlace();
      out_.Line(fmt::format("{} {};", PackType(out_, type, pack_), made));
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack_));
      index_[pool_.rank - 1] = fmt::format("({} + {})", x, e);
      const std::string value = Finished(fmt::format("{}[{}][{}]", best, d, e));
      out_.Line(fmt::format("{}.at[{}] = {};", made, e, value));
      out_.Close();
      out_.Line(
          fmt::format("*reinterpret_cast<Pack<{}, {}>*>({} + {}) = {};", type, pack_, out_.TargetName(), to, made));
    }
    if (!valid_.empty()) out_.Close();
    CloseDown();
    if (down_ > 1) out_.Close();
  }

  // Output `d` of the thread's, if it is one.
  void OpenDown(const std::string& d) {
    ragged_ = false;
    if (!y_axis_) return;
    const std::string y = out_.Fresh("y_out");
    out_.Line(fmt::format("const {} {} = {} * {} + {};", index(), y, tile_name_, down_, d));
    index_[pool_.axes[*y_axis_]] = y;
    ragged_ = y_.out % down_ != 0;
    if (ragged_) out_.Open(fmt::format("if ({} < {})", y, y_.out));
  }
  void CloseDown() {
    if (ragged_) out_.Close();
  }

  // What is stored of a window's value.
  std::string Finished(const std::string& all) {
    std::string it = value_type_ == out_.Type(pool_.input->type)
                         ? all
                         : fmt::format("static_cast<{}>({})", out_.Type(pool_.input->type), all);
    if (pool_.arg) it = fmt::format("long({0}.at == kNowhere ? -1 : {0}.at)", all);
    if (kernel_.variant == "mean") {
      const std::string count = Divisor(), mean = out_.Fresh("mean");
      out_.Line(fmt::format("const {} {} = {} / {};", out_.Type(ScalarType::kReal), mean, all, count));
      it = mean;
    }
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      if (load.kind == Expr::Kind::kValue) return it;
      const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
      return LoadedText(out_, buffer, fmt::format("{}[{}]", out_.BufferName(buffer), Place(load.buffer)));
    });
    return DeviceExpr::Stored(expr.Text(kernel_.epilogue), kernel_.epilogue->type,
                              program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype);
  }

  std::string TargetPlace() const {
    return DenseAddress(kernel_, {index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(pool_.rank)});
  }

  // How many elements a mean is of.
  std::string Divisor() {
    std::int64_t constant = 1;
    std::string factors;
    for (std::size_t a = 0; a < pool_.axes.size(); ++a) {
      const WindowDim& dim = pool_.dims[a];
      // Beyond the input, and beyond as much padding behind it as in front.
      const std::int64_t from = pool_.inside == 2 ? -dim.padding : 0,
                         to = pool_.inside == 2 ? dim.in + dim.padding : dim.in;
      const std::int64_t end = (dim.out - 1) * dim.stride - dim.padding + dim.Reach();
      if (pool_.inside == 0 || (-dim.padding >= from && end <= to)) {
        constant *= dim.window;
        continue;
      }
      const std::string first = out_.Fresh("first"), above = out_.Fresh("above"), below = out_.Fresh("below"),
                        within = out_.Fresh("within");
      out_.Line(fmt::format("const int {} = static_cast<int>({}) * {} - {};", first, index_[pool_.axes[a]], dim.stride,
                            dim.padding));
      // Places k with from <= first + k * dilation < to.
      out_.Line(fmt::format("const int {} = {} < {} ? ({} - {} + {}) / {} : 0;", below, first, from, from, first,
                            dim.dilation - 1, dim.dilation));
      out_.Line(fmt::format("const int {} = ({} - {} + {}) / {};", above, to, first, dim.dilation - 1, dim.dilation));
      out_.Line(fmt::format("const int {0} = ({1} < {2} ? {1} : {2}) - {3};", within, above, dim.window, below));
      factors += fmt::format(" * {}", within);
    }
    const std::string number = out_.Number(static_cast<double>(constant));
    return factors.empty() ? number : fmt::format("({}{})", number, factors);
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Pooling pool_;
  bool ragged_ = false;
  std::optional<std::size_t> x_axis_, y_axis_;  // of pool_.axes: the innermost dimension's, the last of the others
  WindowDim x_, y_;
  std::string value_type_, type_, how_, neutral_;
  std::int64_t pack_ = 1, down_ = 1;
  std::int64_t strip_ = 1, columns_ = 1, shift_ = 0;  // outputs of a piece of a row; its columns; those before it
  std::int64_t first_pack_ = 0, packs_ = 1;           // of the columns: what is read
  std::int64_t group_ = 32, groups_ = 1;              // threads that share a piece; of a block
  bool shared_ = false, direct_ = false;
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string lane_, unit_, valid_, strip_name_ = "0", tile_name_ = "0", first_row_, own_, column_;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  PoolWriterCuda(program, kernel, out).Write();
}

}  // namespace

HONE_ROW(Way){
    .family = "pool",
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_pool
