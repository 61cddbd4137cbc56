// Writes scans for CUDA. Along the innermost dimension a block goes through its row by tiles: a thread's neighbouring
// elements, then threads of a warp, then warps, then what the tiles before it made. Few long rows are split: a kernel
// before says what each part comes to. Along another dimension a thread goes down a column.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/cuda/map.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_scan {
namespace {

struct DeviceScan {
  ReduceOp fold = ReduceOp::kSum;  // kSum, kProd, kMax or kMin
  Expr body;                       // what is scanned, a real or a whole number
  bool reverse = false, exclusive = false;
};

bool IsAlongRows(const Kernel& kernel) {
  for (std::size_t d = static_cast<std::size_t>(kernel.axes[0]) + 1; d < kernel.space.size(); ++d) {
    if (kernel.space[d].extent != 1) return false;
  }
  return true;
}

// Parts that are worth the kernel before: some tiles each.
std::int64_t MostParts(const Kernel& kernel) {
  constexpr std::int64_t kTiles = 4, kParts = 256;
  if (!IsAlongRows(kernel)) return 1;
  const std::int64_t extent = kernel.space[static_cast<std::size_t>(kernel.axes[0])].extent,
                     tile = IntSetting(kernel, "block") * IntSetting(kernel, "pack");
  return std::clamp<std::int64_t>(extent / (kTiles * tile), 1, kParts);
}
std::vector<Setting> SplitValues(const Kernel& kernel) {
  constexpr std::int64_t kBlocks = 4;  // of a multiprocessor
  const std::int64_t most = MostParts(kernel);
  const auto extent = static_cast<double>(kernel.space[static_cast<std::size_t>(kernel.axes[0])].extent);
  const auto rows = static_cast<std::int64_t>(SpaceCount(kernel) / std::max(extent, 1.0));
  const std::int64_t best =
      std::clamp<std::int64_t>(kBlocks * kernel.device->multiprocessors / std::max<std::int64_t>(rows, 1), 1, most);
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t parts : {std::int64_t{1}, best / 2, best * 2}) {
    if (parts >= 1 && parts <= most && std::find(values.begin(), values.end(), Whole(parts)) == values.end())
      values.push_back(Whole(parts));
  }
  return values;
}
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  if (!IsAlongRows(kernel) && value != Whole(1)) return "rows are split, columns are not; try 1";
  return CheckRange(value, 1, MostParts(kernel));
}

constexpr Knob kKnobs[] = {
    kBlockThreadsKnob,
    kPackKnob,
    {"split", "parts of a row that have blocks of their own; 1 = whole", SplitValues, CheckSplit},
};

constexpr std::string_view kScanBlock =
    R"(// What How makes of the values of all threads before this one, and `total` of all; `shared` holds a value for each warp.
template <class How, int THREADS, class T>
__device__ T ScanBlock(T value, T neutral, T* shared, T& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T upto = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, upto, step);
    if (lane >= step) upto = How::Of(other, upto);
  }
  if (lane == 31) shared[warp] = upto;
  __syncthreads();
  T before = neutral;
  total = neutral;
#pragma unroll
  for (int w = 0; w < THREADS / 32; ++w) {
    const T x = shared[w];
    if (w < warp) before = How::Of(before, x);
    total = How::Of(total, x);
  }
  __syncthreads();
  T here = __shfl_up_sync(0xffffffffu, upto, 1);
  if (lane == 0) here = neutral;
  return How::Of(before, here);
}
)";

class ScanWriterCuda {
 public:
  ScanWriterCuda(const KernelProgram& program, const Kernel& kernel, const DeviceScan& scan, DeviceWriter& out)
      : program_(program), kernel_(kernel), scan_(scan), out_(out), loops_(program, kernel) {
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) {
      if (loops_.dims[d].reduced)
        axis_ = d;
      else
        kept_.push_back(d);
    }
    type_ = out.Type(scan.body->type);
    how_ = out.How(scan.fold);
    // What is carried from tile to tile, or down a column, is summed in double: the errors are those of a tile.
    carry_type_ = type_ == "float" && scan.fold == ReduceOp::kSum ? "double" : type_;
    neutral_ = out.Neutral(scan.fold, scan.body->type);
    if (scan.fold == ReduceOp::kSum || scan.fold == ReduceOp::kProd) neutral_ = fmt::format("{}({})", type_, neutral_);
    places_.resize(loops_.dims.size());
  }

  void Write() {
    if (loops_.Count(false) == 0 || loops_.Count(true) == 0) return;
    if (axis_ + 1 == loops_.dims.size() && loops_.dims[axis_].reduced) return WriteRows();
    WriteColumns();
  }

 private:
  std::string OperandText(int operand) const {
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    return LoadedText(out_, buffer,
                      fmt::format("{}[{}]", out_.BufferName(buffer), loops_.OperandAddress(operand, places_)));
  }

  // What is stored for the scanned value `it`.
  std::string ResultText(const std::string& it) {
    DeviceExpr expr(
        out_, [&](const ExprNode& load) { return load.kind == Expr::Kind::kValue ? it : OperandText(load.buffer); });
    const DType target = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    return DeviceExpr::Stored(expr.Text(kernel_.epilogue), kernel_.epilogue->type, target);
  }

  void WriteColumns() {
    const bool single = kept_.size() == loops_.dims.size();  // along an extent of 1
    const std::int64_t threads = IntSetting(kernel_, "block"), count = loops_.Count(false);
    out_.BeginKernel("scan", threads);
    const std::string at = out_.OpenThreads("at", count);
    const auto names = OpenPlaces(out_, loops_, kept_, at, 1);
    for (std::size_t n = 0; n < kept_.size(); ++n) places_[kept_[n]] = names[n];
    const std::string carry = out_.Fresh("carry");
    out_.Line(fmt::format("{} {} = {};", carry_type_, carry, neutral_));
    if (!single) {
      const std::int64_t extent = loops_.dims[axis_].extent;
      const std::string step = out_.Fresh("step");
      out_.Line("#pragma unroll 8");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", step, extent));
      places_[axis_] = scan_.reverse ? fmt::format("({} - {})", extent - 1, step) : step;
    }
    WriteElement(carry);
    if (!single) out_.Close();
    out_.Launch({.grid_x = (count + threads - 1) / threads,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

  // Takes the element at hand into `carry` and stores what is scanned so far.
  void WriteElement(const std::string& carry) {
    DeviceExpr expr(out_, [&](const ExprNode& load) { return OperandText(load.buffer); });
    const auto take = [&] {
      out_.Line(
          fmt::format("{0} = {1}::Of({0}, static_cast<{2}>({3}));", carry, how_, carry_type_, expr.Text(scan_.body)));
    };
    if (!scan_.exclusive) take();
    out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), loops_.TargetAddress(places_),
                          ResultText(fmt::format("static_cast<{}>({})", type_, carry))));
    if (scan_.exclusive) take();
  }

  void WriteRows() {
    const std::int64_t extent = loops_.dims[axis_].extent, rows = loops_.Count(false);
    const std::int64_t pack = PackOf(loops_, IntSetting(kernel_, "pack"));
    std::int64_t threads = IntSetting(kernel_, "block");
    while (threads > 32 && threads / 2 * pack >= extent) threads /= 2;
    const std::int64_t packs = extent / pack;
    const Tiles tiles = TilesOf(packs, pack, threads);
    out_.Define(std::string(kScanBlock));
    std::string totals;
    if (tiles.parts > 1) {
      totals = out_.Scratch("of_parts", ScratchType(), rows * tiles.parts);
      WriteTotals(tiles, rows, totals);
    }
    out_.BeginKernel("scan", threads);
    const std::string shared = out_.Fresh("warps"), carry = out_.Fresh("carry");
    out_.Line(fmt::format("__shared__ {} {}[{}];", type_, shared, threads / 32));
    const std::string part = OpenPart(tiles);
    out_.Line(fmt::format("{} {} = {};", carry_type_, carry, neutral_));
    if (tiles.parts > 1) {
      const std::string p = out_.Fresh("p");
      out_.Line(
          fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2} = {3}::Of({2}, {4}[static_cast<long>(blockIdx.x) "
                      "- {1} + {0}]);",
                      p, part, carry, how_, totals));
    }
    const Tile tile = OpenTile(tiles, part);
    const bool even = tile.inside.empty();
    const std::string &first = tile.first, &inside = tile.inside;
    // 1. The thread's own elements, each with those before it.
    const std::string local = out_.Fresh("upto"), sum = out_.Fresh("all");
    out_.Line(fmt::format("{} {}[{}];", type_, local, pack));
    out_.Line(fmt::format("{} {} = {};", type_, sum, neutral_));
    if (!even) out_.Open(fmt::format("if ({})", inside));
    const std::string value_of_own = OpenOwn(tile, pack);
    if (scan_.exclusive) out_.Line(fmt::format("{}[{}] = {};", local, element_, sum));
    out_.Line(fmt::format("{0} = {1}::Of({0}, {2}({3}));", sum, how_, type_, value_of_own));
    if (!scan_.exclusive) out_.Line(fmt::format("{}[{}] = {};", local, element_, sum));
    out_.Close();
    if (!even) out_.Close();
    // 2. What the threads before it have.
    const std::string total = out_.Fresh("total"), before = out_.Fresh("before");
    out_.Line(fmt::format("{} {};", type_, total));
    out_.Line(fmt::format("const {} {} = ScanBlock<{}, {}>({}, {}, {}, {});", type_, before, how_, threads, sum,
                          neutral_, shared, total));
    // 3. What the tiles before it have.
    if (!even) out_.Open(fmt::format("if ({})", inside));
    const DType target = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    const std::string made = out_.Fresh("made");
    if (pack > 1) out_.Line(fmt::format("{} {};", PackType(out_, DeviceType(target), pack), made));
    OpenElements(pack);
    SetPlace(first);
    const std::string it = out_.Fresh("it");
    out_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2}::Of({3}, static_cast<{4}>({2}::Of({5}, {6}[{7}]))));",
                          type_, it, how_, carry, carry_type_, before, local, element_));
    const std::string value = ResultText(it);
    if (pack > 1)
      out_.Line(fmt::format("{}.at[{}] = {};", made, element_, value));
    else
      out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), loops_.TargetAddress(places_), value));
    out_.Close();
    if (pack > 1) {
      places_[axis_] = first;
      out_.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>({} + {}) = {};", DeviceType(target), pack,
                            out_.TargetName(), loops_.TargetAddress(places_), made));
    }
    if (!even) out_.Close();
    out_.Line(fmt::format("{0} = {1}::Of({0}, static_cast<{2}>({3}));", carry, how_, carry_type_, total));
    out_.Close();
    DeviceWriter::LaunchShape shape{
        .grid_x = rows * tiles.parts, .reads = OperandBuffers({&kernel_, 1}), .writes = {kernel_.target}};
    if (!totals.empty()) shape.scratch_reads = {totals};
    out_.Launch(shape);
  }

  // How a row is gone through: `packs` of it, so many a part.
  struct Tiles {
    std::int64_t packs = 0, pack = 1, threads = 0, parts = 1, of_part = 0;
  };
  Tiles TilesOf(std::int64_t packs, std::int64_t pack, std::int64_t threads) const {
    Tiles tiles{.packs = packs, .pack = pack, .threads = threads};
    const std::int64_t split = IntSetting(kernel_, "split"), all = (packs + threads - 1) / threads;
    tiles.of_part = (all + split - 1) / split * threads;
    tiles.parts = (packs + tiles.of_part - 1) / tiles.of_part;
    return tiles;
  }
  DType ScratchType() const {
    return carry_type_ == "double" ? DType::kF64 : carry_type_ == "float" ? DType::kF32 : DType::kI64;
  }
  // Names the row's places; the name of the part's number, "0" where there is one.
  std::string OpenPart(const Tiles& tiles) {
    const std::string row = out_.Fresh("row");
    std::string part = "0";
    if (tiles.parts > 1) {
      part = out_.Fresh("part");
      out_.Line(fmt::format("const int {} = static_cast<int>(blockIdx.x % {});", part, tiles.parts));
      out_.Line(
          fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x / {2});", out_.index_type(), row, tiles.parts));
    } else {
      out_.Line(fmt::format("const {} {} = blockIdx.x;", out_.index_type(), row));
    }
    const auto names = OpenPlaces(out_, loops_, kept_, row, 1);
    for (std::size_t n = 0; n < kept_.size(); ++n) places_[kept_[n]] = names[n];
    return part;
  }
  // Opens the loop over a part's tiles. `first`: the place of the thread's first element; `inside`: whether it has any,
  // empty where all have.
  struct Tile {
    std::string first, inside;
  };
  Tile OpenTile(const Tiles& tiles, const std::string& part) {
    const std::string tile = out_.Fresh("tile"), number = out_.Fresh("number"), first = out_.Fresh("first");
    const std::string begin = tiles.parts > 1 ? fmt::format("{} * {}", part, tiles.of_part) : "0";
    const std::string end = tiles.parts > 1 ? fmt::format("min(({} + 1) * {}, {})", part, tiles.of_part, tiles.packs)
                                            : std::to_string(tiles.packs);
    out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", tile, begin, end, tiles.threads));
    out_.Line(fmt::format("const int {} = {} + threadIdx.x;", number, tile));
    std::string inside;
    if (tiles.packs % tiles.threads != 0) {
      inside = out_.Fresh("inside");
      out_.Line(fmt::format("const bool {} = {} < {};", inside, number, tiles.packs));
    }
    out_.Line(fmt::format("const int {} = {} * {};", first,
                          scan_.reverse ? fmt::format("({} - {})", tiles.packs - 1, number) : number, tiles.pack));
    return {first, inside};
  }
  // Opens the loop over a thread's own elements; the value of one.
  std::string OpenOwn(const Tile& tile, std::int64_t pack) {
    std::map<int, std::string> loaded;
    Visit(scan_.body, [&](const ExprNode& load) {
      if (load.kind != Expr::Kind::kLoad || loaded.contains(load.buffer)) return;
      const auto o = static_cast<std::size_t>(load.buffer);
      if (!LoadsInPacks(loops_, kernel_, o, pack)) return;
      const int buffer = kernel_.operands[o].buffer;
      const std::string type =
          PackType(out_, DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), pack);
      const std::string name = out_.Fresh(out_.BufferName(buffer) + "_pack");
      places_[axis_] = tile.first;
      out_.Line(fmt::format("const {} {} = {};", type, name,
                            PackText(type, out_.BufferName(buffer), loops_.OperandAddress(load.buffer, places_))));
      loaded[load.buffer] = name;
    });
    OpenElements(pack);
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      const auto it = loaded.find(load.buffer);
      if (it == loaded.end()) return OperandText(load.buffer);
      return LoadedText(out_, kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer,
                        fmt::format("{}.at[{}]", it->second, element_));
    });
    SetPlace(tile.first);
    return expr.Text(scan_.body);
  }

  // What each part of a row comes to.
  void WriteTotals(const Tiles& tiles, std::int64_t rows, const std::string& totals) {
    out_.BeginKernel("totals", tiles.threads);
    const std::string shared = out_.Fresh("warps"), own = out_.Fresh("own"), total = out_.Fresh("total");
    out_.Line(fmt::format("__shared__ {} {}[{}];", carry_type_, shared, tiles.threads / 32));
    const std::string part = OpenPart(tiles);
    const std::string neutral = fmt::format("static_cast<{}>({})", carry_type_, neutral_);
    out_.Line(fmt::format("{} {} = {};", carry_type_, own, neutral));
    const Tile tile = OpenTile(tiles, part);
    if (!tile.inside.empty()) out_.Open(fmt::format("if ({})", tile.inside));
    const std::string value = OpenOwn(tile, tiles.pack);
    out_.Line(fmt::format("{0} = {1}::Of({0}, static_cast<{2}>({3}));", own, how_, carry_type_, value));
    out_.Close();
    if (!tile.inside.empty()) out_.Close();
    out_.Close();
    out_.Line(fmt::format("{} {};", carry_type_, total));
    out_.Line(fmt::format("ScanBlock<{}, {}>({}, {}, {}, {});", how_, tiles.threads, own, neutral, shared, total));
    out_.Line(fmt::format("if (threadIdx.x == 0) {}[blockIdx.x] = {};", totals, total));
    out_.Launch({.grid_x = rows * tiles.parts, .reads = OperandBuffers({&kernel_, 1}), .scratch_writes = {totals}});
  }

  // Over a thread's elements in the order of the scan; `element_` is where one stands in its pack.
  void OpenElements(std::int64_t pack) {
    const std::string e = out_.Fresh("e");
    out_.Unroll();
    out_.Open(scan_.reverse ? fmt::format("for (int {0} = {1}; {0} >= 0; --{0})", e, pack - 1)
                            : fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack));
    element_ = e;
  }
  void SetPlace(const std::string& first) { places_[axis_] = fmt::format("{} + {}", first, element_); }

  const KernelProgram& program_;
  const Kernel& kernel_;
  const DeviceScan& scan_;
  DeviceWriter& out_;
  const Loops loops_;
  std::size_t axis_ = 0;
  std::vector<std::size_t> kept_;
  std::vector<std::string> places_;
  std::string type_, carry_type_, how_, neutral_, element_;
};

bool Says(const Kernel& kernel, const std::string& attribute) {
  const auto it = kernel.attributes.find(attribute);
  return it != kernel.attributes.end() && it->second[0] != 0;
}

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  DeviceScan scan;
  scan.fold = FoldOfVariant(kernel.variant);
  scan.body = kernel.inputs[0];
  if (scan.body->type == ScalarType::kBool) scan.body = Cast(scan.body, ScalarType::kInt);
  scan.reverse = Says(kernel, "reverse");
  scan.exclusive = Says(kernel, "exclusive");
  ScanWriterCuda(program, kernel, scan, out).Write();
}

}  // namespace

HONE_ROW(Way){
    .family = "scan",
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_scan
