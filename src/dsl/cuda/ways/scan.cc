// Writes scans for CUDA. Along the innermost dimension a block goes through its row by tiles: a thread's neighbouring
// elements, then threads of a warp, then warps, then what the tiles before it made. Along another one a thread goes
// down a column.
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

constexpr Knob kKnobs[] = {kBlockThreadsKnob, kPackKnob};

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
    out_.Define(std::string(kScanBlock));
    out_.BeginKernel("scan", threads);
    const std::string row = out_.Fresh("row"), shared = out_.Fresh("warps"), carry = out_.Fresh("carry"),
                      tile = out_.Fresh("tile");
    out_.Line(fmt::format("__shared__ {} {}[{}];", type_, shared, threads / 32));
    out_.Line(fmt::format("const {} {} = blockIdx.x;", out_.index_type(), row));
    const auto names = OpenPlaces(out_, loops_, kept_, row, 1);
    for (std::size_t n = 0; n < kept_.size(); ++n) places_[kept_[n]] = names[n];
    out_.Line(fmt::format("{} {} = {};", carry_type_, carry, neutral_));
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", tile, packs, threads));
    const std::string number = out_.Fresh("number"), inside = out_.Fresh("inside"), first = out_.Fresh("first");
    out_.Line(fmt::format("const int {} = {} + threadIdx.x;", number, tile));
    const bool even = packs % threads == 0;
    if (!even) out_.Line(fmt::format("const bool {} = {} < {};", inside, number, packs));
    out_.Line(fmt::format("const int {} = {} * {};", first,
                          scan_.reverse ? fmt::format("({} - {})", packs - 1, number) : number, pack));
    // 1. The thread's own elements, each with those before it.
    const std::string local = out_.Fresh("upto"), sum = out_.Fresh("all");
    out_.Line(fmt::format("{} {}[{}];", type_, local, pack));
    out_.Line(fmt::format("{} {} = {};", type_, sum, neutral_));
    if (!even) out_.Open(fmt::format("if ({})", inside));
    std::map<int, std::string> loaded;
    Visit(scan_.body, [&](const ExprNode& load) {
      if (load.kind != Expr::Kind::kLoad || loaded.contains(load.buffer)) return;
      const auto o = static_cast<std::size_t>(load.buffer);
      if (!LoadsInPacks(loops_, kernel_, o, pack)) return;
      const int buffer = kernel_.operands[o].buffer;
      const std::string type =
          PackType(out_, DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), pack);
      const std::string name = out_.Fresh(out_.BufferName(buffer) + "_pack");
      places_[axis_] = first;
      out_.Line(fmt::format("const {} {} = {};", type, name,
                            PackText(type, out_.BufferName(buffer), loops_.OperandAddress(load.buffer, places_))));
      loaded[load.buffer] = name;
    });
    OpenElements(pack);
    {
      DeviceExpr expr(out_, [&](const ExprNode& load) {
        const auto it = loaded.find(load.buffer);
        if (it == loaded.end()) return OperandText(load.buffer);
        return LoadedText(out_, kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer,
                          fmt::format("{}.at[{}]", it->second, element_));
      });
      SetPlace(first);
      const std::string value = expr.Text(scan_.body);
      if (scan_.exclusive) out_.Line(fmt::format("{}[{}] = {};", local, element_, sum));
      out_.Line(fmt::format("{0} = {1}::Of({0}, {2}({3}));", sum, how_, type_, value));
      if (!scan_.exclusive) out_.Line(fmt::format("{}[{}] = {};", local, element_, sum));
    }
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
    out_.Launch({.grid_x = rows, .reads = OperandBuffers({&kernel_, 1}), .writes = {kernel_.target}});
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
