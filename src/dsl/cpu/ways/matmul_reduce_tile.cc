// Rows of a product folded as its blocks are made. B's columns are the rows of what is multiplied here, and A's rows
// its columns: so a vector has the same column of B for as many rows of A, each in a lane of its own, and what is
// folded meets only at the end of a block. A, of which there is mostly less, is packed as a whole, and each thread
// packs the block of B that it is about to multiply.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/rounding.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/matmul_blocks.h"
#include "dsl/cpu/matmul_panels.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/reduction.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_matmul_reduce_tile {
namespace {

constexpr std::int64_t kMostDepth = 1 << 14;   // a block of B lies on the thread's stack, whole columns of it
constexpr std::int64_t kMostABlock = 1 << 18;  // elements of that

// The transposed product: [.., N, M, K], of which N is folded.
Kernel Turned(const Kernel& kernel) {
  Kernel turned = kernel;
  const std::size_t rank = kernel.space.size();
  std::swap(turned.space[rank - 3], turned.space[rank - 2]);
  for (auto& operand : turned.operands) std::swap(operand.strides[rank - 3], operand.strides[rank - 2]);
  std::swap(turned.inputs[0], turned.inputs[1]);
  turned.axes[0] = static_cast<int>(rank) - 3;
  return turned;
}

class FoldedBlocks : MatmulPanels {
 public:
  FoldedBlocks(const KernelProgram& program, const Kernel& turned, Writer& writer)
      : MatmulPanels(program, turned, writer, PanelUnit::kNumber), group_(ColumnsOfGroup(turned)) {}

  void Emit() {
    const auto tile = TupleSetting(kernel_, "tile");
    const std::int64_t m = shape_.m.extent, n = shape_.n.extent, k = shape_.k.extent;
    const std::string& real = writer_.real();
    const std::int64_t rows = std::min(tile[0], m), columns = std::min(tile[1], n);
    const std::string panels = PackedB();
    WriteMultiply(k, {});
    if (Turns()) WriteTurn();
    blocks_ = (m + rows - 1) / rows;
    if (group_ == 0) {
      std::int64_t count = n * blocks_;
      for (const auto& dim : shape_.batch) count *= dim.extent;
      parts_ = writer_.Scratch("parts", real, count);
      if (places()) part_places_ = writer_.Scratch("part_places", "long", count);
      if (exponentials()) part_sums_ = writer_.Scratch("part_sums", real, count);
    }
    writer_.ParallelFor(SharedLoops(2), "dynamic");
    OpenBatches();
    writer_.Open(fmt::format("for (long i0 = 0; i0 < {}; i0 += {})", m, rows));
    writer_.Open(fmt::format("for (long j0 = 0; j0 < {}; j0 += {})", n, columns));
    writer_.Line(Left("rows", m, "i0", rows));
    writer_.Line(Left("columns", n, "j0", columns));
    writer_.Line(fmt::format("constexpr long k0 = 0, depth = {};", k));
    writer_.Line(fmt::format("alignas(64) {} a_panels[{}];", real, RoundUp(rows, mr_) * k + kPanelSlack));
    WritePackA(m % rows != 0 || rows % mr_ != 0);
    writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
    writer_.Line(fmt::format("const {}* b_panel = {} + {};", real, panels, BAddress("j0 + j", "0")));
    writer_.Line(Left("width", "columns", "j", nr_));
    Begin();
    writer_.Open(fmt::format("for (long i = 0; i < rows; i += {})", mr_));
    writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
    writer_.Line(Left("height", "rows", "i", mr_));
    Multiply({rows % mr_, m % rows % mr_});
    Fold();
    writer_.Close();
    if (group_ == 0) StoreParts();
    writer_.Close();
    writer_.Close();
    writer_.Close();
    CloseBatches();
    if (group_ == 0) Together();
  }

 private:
  bool places() const { return FindsPlace(kernel_); }
  bool exponentials() const { return kernel_.variant == "logsumexp"; }
  bool max() const { return kernel_.variant == "max" || kernel_.variant == "argmax" || exponentials(); }
  bool sums() const { return kernel_.variant == "sum"; }
  std::string Nothing() const { return sums() ? "0" : writer_.Number(max() ? -INFINITY : INFINITY); }
  std::string Folded(const std::string& a, const std::string& b) const {
    return sums() ? fmt::format("{} + {}", a, b)
                  : fmt::format("{}({}, {})", writer_.Helper(max() ? "Max" : "Min"), a, b);
  }
  std::string IsBetter(const std::string& a, const std::string& than) const {
    return fmt::format("{0} {2} {1} || ({0} != {0} && {1} == {1})", a, than, max() ? ">" : "<");
  }
  void EachColumn(const std::function<void()>& body) {
    writer_.Line("#pragma omp simd");
    writer_.Open("for (long c = 0; c < width; ++c)");
    body();
    writer_.Close();
  }

  // A panel of all rows, or of as many as a block's last one has.
  void Multiply(const std::set<std::int64_t>& last) {
    const auto call = [&](std::int64_t rows) {
      return fmt::format("Multiply_{}<{}>(depth, a_panels + i * depth, b_panel, {}, tile);", writer_.TargetName(), rows,
                         nr_);
    };
    for (const std::int64_t rows : last) {
      if (rows > 0) writer_.Line(fmt::format("if (height == {}) {}", rows, call(rows)));
    }
    writer_.Line(fmt::format("if (height == {}) {}", mr_, call(mr_)));
  }

  // What the panel's columns have of the block so far.
  void Begin() {
    const std::string& real = writer_.real();
    writer_.Line(fmt::format("alignas(64) {} folded[{}];", real, nr_));
    if (places()) writer_.Line(fmt::format("alignas(64) {} places[{}];", writer_.wide() ? "long" : "int", nr_));
    if (exponentials()) writer_.Line(fmt::format("alignas(64) {} sums[{}];", real, nr_));
    writer_.Open(fmt::format("for (long c = 0; c < {}; ++c)", nr_));
    writer_.Line(fmt::format("folded[c] = {};", Nothing()));
    if (places()) writer_.Line("places[c] = i0;");
    if (exponentials()) writer_.Line("sums[c] = 0;");
    writer_.Close();
  }

  void Fold() {
    const std::string place = fmt::format("tile[r * {} + c]", nr_);
    const Expr score = kernel_.lets.empty() ? Expr() : kernel_.lets[0].body;
    writer_.Open("for (long r = 0; r < height; ++r)");
    EachColumn([&] {
      std::string it = place;
      if (score) {
        it = Text(score, shape_.Index("i0 + i + r", "j0 + j + c", "0"), place);
        writer_.Line(fmt::format("const {} score = {};", writer_.real(), it));
        it = "score";
      }
      if (places()) {
        if (!score) writer_.Line(fmt::format("const {} score = {};", writer_.real(), it));
        writer_.Line(fmt::format("const bool better = {};", IsBetter("score", "folded[c]")));
        writer_.Line("folded[c] = better ? score : folded[c];");
        writer_.Line("places[c] = better ? i0 + i + r : places[c];");
      } else if (exponentials()) {
        if (score) writer_.Line(fmt::format("{} = score;", place));
      } else {
        writer_.Line(fmt::format("folded[c] = {};", Folded("folded[c]", it)));
      }
    });
    if (group_ > 0) EndGroup();
    writer_.Close();
    if (exponentials()) AddExponentials(place);
  }

  // A tile's exponentials, below the largest score of all so far, or 0 where that is infinite.
  void AddExponentials(const std::string& place) {
    const std::string& real = writer_.real();
    const std::string exp = writer_.Libm("exp");
    const auto each_row = [&](const std::string& line) {
      writer_.Open("for (long r = 0; r < height; ++r)");
      EachColumn([&] { writer_.Line(line); });
      writer_.Close();
    };
    writer_.Line(fmt::format("alignas(64) {0} largest[{1}], bases[{1}];", real, nr_));
    EachColumn([&] { writer_.Line("largest[c] = folded[c];"); });
    each_row(fmt::format("largest[c] = {};", Folded("largest[c]", place)));
    EachColumn([&] {
      writer_.Line(BaseOf("largest[c]"));
      writer_.Line(fmt::format("sums[c] = sums[c] == 0 ? 0 : sums[c] * {}(folded[c] - base);", exp));
      writer_.Line("bases[c] = base;");
      writer_.Line("folded[c] = largest[c];");
    });
    each_row(fmt::format("sums[c] += {}({} - bases[c]);", exp, place));
  }
  std::string BaseOf(const std::string& largest) const {
    return fmt::format("const {0} base = {1} == {2} || {1} == {3} ? 0 : {1};", writer_.real(), largest,
                       writer_.Number(INFINITY), writer_.Number(-INFINITY));
  }

  // Where the last row of a group was folded, its values are elements of the result.
  void EndGroup() {
    const std::string row = "i0 + i + r";
    writer_.Open(fmt::format("if (({} + 1) % {} == 0 || {} + 1 == {})", row, group_, row, shape_.m.extent));
    EachColumn([&] {
      const std::string value = Text(kernel_.epilogue, shape_.Index("0", "j0 + j + c", "0"), "folded[c]");
      writer_.Line(fmt::format("{} = {};", Target(fmt::format("(({}) / {})", row, group_), "j0 + j + c"), value));
      writer_.Line(fmt::format("folded[c] = {};", Nothing()));
    });
    writer_.Close();
  }

  // Where a column's part of a block is in memory.
  std::string Part(const std::string& block, const std::string& column) const {
    std::vector<std::string> index;
    std::vector<std::int64_t> strides;
    std::int64_t step = shape_.n.extent * blocks_;
    for (std::size_t d = shape_.batch.size(); d-- > 0;) {
      index.insert(index.begin(), shape_.batch[d].var);
      strides.insert(strides.begin(), step);
      step *= shape_.batch[d].extent;
    }
    index.insert(index.end(), {block, column});
    strides.insert(strides.end(), {shape_.n.extent, 1});
    return Address(index, strides, 0);
  }
  void StoreParts() {
    writer_.Open("for (long c = 0; c < width; ++c)");
    const std::string at =
        Part(fmt::format("(i0 / {})", std::min(TupleSetting(kernel_, "tile")[0], shape_.m.extent)), "(j0 + j + c)");
    writer_.Line(fmt::format("{}[{}] = folded[c];", parts_, at));
    if (places()) writer_.Line(fmt::format("{}[{}] = places[c];", part_places_, at));
    if (exponentials()) writer_.Line(fmt::format("{}[{}] = sums[c];", part_sums_, at));
    writer_.Close();
  }

  // The parts of all blocks, in their order.
  void Together() {
    const std::string total = sums() ? "double" : writer_.real(), part = fmt::format("{}[{}]", parts_, Part("b", "j"));
    writer_.Comment("What the blocks have made of each.");
    writer_.ParallelFor(SharedLoops(1));
    OpenBatches();
    writer_.Open(fmt::format("for (long j = 0; j < {}; ++j)", shape_.n.extent));
    writer_.Line(
        fmt::format("{} folded = {};", total, places() ? fmt::format("{}[{}]", parts_, Part("0", "j")) : Nothing()));
    if (places()) writer_.Line(fmt::format("long place = {}[{}];", part_places_, Part("0", "j")));
    const std::string loop = fmt::format("for (long b = {}; b < {}; ++b)", places() ? 1 : 0, blocks_);
    writer_.Open(loop);
    if (places()) {
      writer_.Line(fmt::format("const bool better = {};", IsBetter(part, "folded")));
      writer_.Line(fmt::format("folded = better ? {} : folded;", part));
      writer_.Line(fmt::format("place = better ? {}[{}] : place;", part_places_, Part("b", "j")));
    } else {
      writer_.Line(fmt::format("folded = {};", Folded("folded", part)));
    }
    writer_.Close();
    std::string it = places() ? "place" : sums() ? fmt::format("static_cast<{}>(folded)", writer_.real()) : "folded";
    if (exponentials()) {
      const std::string exp = writer_.Libm("exp"), log = writer_.Libm("log");
      writer_.Line(BaseOf("folded"));
      writer_.Line("double sum = 0;");
      writer_.Line(fmt::format("{} sum += {}[{}] == 0 ? 0 : {}[{}] * {}({} - base);", loop, part_sums_, Part("b", "j"),
                               part_sums_, Part("b", "j"), exp, PartBase(part)));
      writer_.Line(fmt::format("const {0} all = base + {1}(static_cast<{0}>(sum));", writer_.real(), log));
      it = "all";
    }
    const std::vector<std::string> index = shape_.Index("0", "j", "0");
    writer_.Line(fmt::format("{} = {};", Target("0", "j"), Text(kernel_.epilogue, index, it)));
    for (const KernelAlso& also : kernel_.also)
      writer_.Line(fmt::format("{}[{}] = {};", writer_.BufferName(also.target), Address(index, shape_.target, 0),
                               Text(also.value, index, "folded")));
    writer_.Close();
    CloseBatches();
  }
  // What a part's exponentials were taken below.
  std::string PartBase(const std::string& part) const {
    return fmt::format("({0} == {1} || {0} == {2} ? 0 : {0})", part, writer_.Number(INFINITY),
                       writer_.Number(-INFINITY));
  }

  const std::int64_t group_;  // of rows, that have a value of their own; 0: all are folded to one
  std::int64_t blocks_ = 1;   // of rows
  std::string parts_, part_places_, part_sums_;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  if (kernel.space[rank - 2].extent == 0) return "B has no columns";
  if (kernel.space[rank - 1].extent > kMostDepth)
    return fmt::format("K is {}, and a block of whole columns of at most {} lies on a thread's stack",
                       kernel.space[rank - 1].extent, kMostDepth);
  return std::nullopt;
}

// --- Settings.

std::vector<Setting> MicroValues(const Kernel& kernel) { return MicroBlocks(Turned(kernel), false); }

std::int64_t MostRows(const Kernel& kernel) {
  return std::max<std::int64_t>(1, kMostABlock / std::max<std::int64_t>(1, kernel.space.back().extent) - 32);
}

// B's block fills a quarter of L2 at most and gives every thread some of them, A's panels half of it.
std::vector<Setting> TileValues(const Kernel& kernel) {
  const MatmulShape shape(Turned(kernel));
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t mr = micro.size() == 2 ? micro[0] : 8, nr = micro.size() == 2 ? micro[1] : 32,
                     depth = std::max<std::int64_t>(1, shape.k.extent), l2 = kernel.device->l2_bytes / 4,
                     group = std::max<std::int64_t>(1, ColumnsOfGroup(kernel));
  const std::int64_t columns = std::clamp(RoundUp(shape.n.extent, nr), nr, std::max(nr, l2 / 2 / depth / nr * nr));
  std::int64_t rows = std::max(mr, std::min(l2 / 4 / depth, MostRows(kernel)) / mr * mr);
  const auto blocks = [&] {
    std::int64_t count = ((shape.m.extent + rows - 1) / rows) * ((shape.n.extent + columns - 1) / columns);
    for (const auto& dim : shape.batch) count *= dim.extent;
    return count;
  };
  while (rows > 4 * mr && blocks() < 4 * std::max(1, kernel.device->threads)) rows = rows / 2 / mr * mr;
  const auto whole_groups = [&](std::int64_t count) { return std::max(group, count / group * group); };
  std::vector<Setting> values;
  for (const std::int64_t count : {rows, rows / 2, rows * 2}) {
    const Setting value = Tuple({whole_groups(std::max<std::int64_t>(1, std::min(count, MostRows(kernel)))), columns});
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}
std::optional<std::string> CheckFoldTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2 || (*tuple)[0] < 1 || (*tuple)[1] < 1)
    return "it is columns of B x rows of A; try 256x256";
  const auto micro = TupleSetting(kernel, "micro");
  if (micro.size() == 2 && (*tuple)[1] % micro[1] != 0)
    return fmt::format("the second must be a multiple of micro's {}; try {}", micro[1], RoundUp((*tuple)[1], micro[1]));
  const std::int64_t group = ColumnsOfGroup(kernel);
  if (group > 0 && (*tuple)[0] % group != 0)
    return fmt::format("the first must be a multiple of the group's {} columns; try {}", group,
                       RoundUp((*tuple)[0], group));
  if ((*tuple)[0] > std::max(MostRows(kernel), group))
    return fmt::format("so many columns of B do not fit on a thread's stack; try {}", MostRows(kernel));
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    kMatmulThreadsKnob,
    kVectorKnob,
    {"micro", "columns of B x rows of A in registers", MicroValues, CheckMicro},
    {"tile", "columns of B x rows of A of the block that a thread takes", TileValues, CheckFoldTile},
    {"prepack", "auto: A is packed once, in hone_prepare, when it is a parameter; no: on every run", PrepackValues,
     CheckPrepack},
};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  const Kernel turned = Turned(kernel);
  FoldedBlocks(program, turned, writer).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "tile",
    .doc = "packed and register-blocked, each block folded as it is made",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_matmul_reduce_tile
