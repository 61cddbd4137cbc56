#include "dsl/cuda/turned_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/loops.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kSharedBytes = 48 << 10;         // that every block may have
constexpr Shortest kShortest{.inner = 2, .across = 8};  // fewer side by side are not worth a square
constexpr std::int64_t kWarp = 32;
constexpr double kLongChain = 60;  // operations: written out once, not once an element of a thread

std::set<int> OperandsOf(const Kernel& kernel) {
  std::set<int> used;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad && node.buffer >= 0) used.insert(node.buffer);
  });
  return used;
}

class TurnedMap {
 public:
  TurnedMap(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program), kernel_(kernel), out_(out), loops_(program, kernel) {}

  bool Write() {
    if (!FindTurned()) return false;
    Cut();
    out_.BeginKernel("turn", threads_);
    std::int64_t blocks = tiles(across_) * tiles(inner());
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) {
      if (d != across_ && d != inner()) blocks *= loops_.dims[d].extent;
    }
    OpenBlock();
    for (const int operand : turned_) Load(operand);
    out_.Line("__syncthreads();");
    Compute();
    std::vector<int> reads;
    for (const int operand : OperandsOf(kernel_)) reads.push_back(Buffer(operand));
    out_.Launch({.grid_x = blocks, .reads = reads, .writes = {kernel_.target}});
    return true;
  }

 private:
  std::size_t inner() const { return loops_.dims.size() - 1; }
  std::int64_t& edge(std::size_t dim) { return dim == across_ ? edge_across_ : edge_inner_; }
  std::int64_t tiles(std::size_t dim) { return (loops_.dims[dim].extent + edge(dim) - 1) / edge(dim); }
  int Buffer(int operand) const { return kernel_.operands[static_cast<std::size_t>(operand)].buffer; }
  DType TypeOf(int operand) const { return program_.buffers[static_cast<std::size_t>(Buffer(operand))].dtype; }
  std::vector<std::int64_t> Strides(int operand) const {
    std::vector<std::int64_t> strides;
    for (const auto& dim : loops_.dims) strides.push_back(dim.strides[static_cast<std::size_t>(operand)]);
    return strides;
  }

  // All along the same dimension, that of the most of them.
  bool FindTurned() {
    std::vector<std::int64_t> extents;
    for (const auto& dim : loops_.dims) extents.push_back(dim.extent);
    std::map<std::size_t, std::vector<int>> by_dim;
    for (const int operand : OperandsOf(kernel_)) {
      if (const auto dim = AcrossDim(Strides(operand), extents, kShortest)) by_dim[*dim].push_back(operand);
    }
    for (auto& [dim, operands] : by_dim) {
      if (operands.size() <= turned_.size()) continue;
      across_ = dim;
      turned_ = operands;
    }
    return !turned_.empty();
  }

  // A square, or as much of one as the dimensions have and longer along the other; as many elements as fit.
  void Cut() {
    threads_ = IntSetting(kernel_, "block");
    const std::int64_t across = loops_.dims[across_].extent, along = loops_.dims[inner()].extent;
    std::int64_t bytes = 0;  // of an element of each operand
    for (const int operand : turned_) bytes += static_cast<std::int64_t>(Bytes(TypeOf(operand)));
    for (std::int64_t square = IntSetting(kernel_, "tile");; square /= 2) {
      edge_inner_ = std::min(square, along);
      edge_across_ = std::min(square * square / edge_inner_, across);
      edge_inner_ = std::min(square * square / edge_across_, along);
      if (edge_across_ > kWarp) edge_across_ = edge_across_ / kWarp * kWarp;
      pitch_ = edge_across_ | 1;  // odd, so that a column's elements lie in different banks
      if (edge_inner_ * pitch_ * bytes <= kSharedBytes) break;
    }
  }

  void OpenBlock() {
    std::string left = fmt::format("static_cast<{}>(blockIdx.x)", out_.index_type());
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) {
      if (d != across_ && d != inner()) order.push_back(d);
    }
    order.push_back(across_);
    order.push_back(inner());
    places_.resize(loops_.dims.size());
    for (std::size_t n = order.size(); n-- > 0;) {
      const std::size_t d = order[n];
      const bool cut = d == across_ || d == inner();
      const std::int64_t extent = cut ? tiles(d) : loops_.dims[d].extent;
      const std::string name = out_.Fresh(cut ? loops_.dims[d].var + "0" : loops_.dims[d].var);
      std::string text = n == 0 ? left : fmt::format("{} % {}", left, extent);
      if (cut) text = fmt::format("{} * {}", n == 0 ? left : "(" + text + ")", edge(d));
      out_.Line(fmt::format("const {} {} = {};", out_.index_type(), name, text));
      places_[d] = name;
      left = fmt::format("({} / {})", left, extent);
    }
  }

  // Opens a loop over the square, `fast` being the dimension along which neighbouring threads stand, and names the
  // places in the square and in the tensors. Where whole rows of the square are a block's width, a thread stays in its
  // column, and its addresses are one and constants.
  void OpenSquare(std::size_t fast, bool written_out) {
    const std::size_t slow = fast == across_ ? inner() : across_;
    const std::int64_t count = edge_across_ * edge_inner_;
    const std::string thread = "static_cast<int>(threadIdx.x)";
    const auto name = [&](std::size_t d) { return out_.Fresh(d == across_ ? "across" : "along"); };
    const std::string quick = name(fast), still = name(slow), begin = out_.Fresh("begin");
    std::string inside;
    if (threads_ % edge(fast) == 0) {
      const std::int64_t rows = threads_ / edge(fast);
      const std::string first = out_.Fresh("first");
      out_.Line(
          fmt::format("const int {} = {} % {}, {} = {} / {};", quick, thread, edge(fast), first, thread, edge(fast)));
      out_.Line(written_out ? "#pragma unroll" : "#pragma unroll 1");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", begin, edge(slow), rows));
      out_.Line(fmt::format("const int {} = {} + {};", still, begin, first));
      if (edge(slow) % rows != 0) inside = fmt::format("{} < {}", still, edge(slow));
    } else {
      const std::string at = out_.Fresh("at");
      out_.Line(written_out ? "#pragma unroll" : "#pragma unroll 1");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", begin, count, threads_));
      out_.Line(fmt::format("const int {} = {} + {};", at, begin, thread));
      out_.Line(fmt::format("const int {} = {} % {}, {} = {} / {};", quick, at, edge(fast), still, at, edge(fast)));
      if (count % threads_ != 0) inside = fmt::format("{} < {}", at, count);
    }
    vars_ = places_;
    for (const std::size_t d : {fast, slow}) {
      const std::string& local = d == fast ? quick : still;
      const std::string place = out_.Fresh(loops_.dims[d].var);
      out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), place, places_[d], local));
      if (loops_.dims[d].extent % edge(d) != 0)
        inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", place, loops_.dims[d].extent);
      vars_[d] = place;
      (d == across_ ? local_across_ : local_inner_) = local;
    }
    out_.Open(inside.empty() ? "" : fmt::format("if ({})", inside));
  }
  void CloseSquare() {
    out_.Close();
    out_.Close();
  }
  std::string InSquare(int operand) const {
    return fmt::format("{}[{} * {} + {}]", squares_.at(operand), local_inner_, pitch_, local_across_);
  }

  void Load(int operand) {
    const int buffer = Buffer(operand);
    squares_[operand] = out_.Fresh(out_.BufferName(buffer) + "_square");
    out_.Line(
        fmt::format("__shared__ {} {}[{}];", DeviceType(TypeOf(operand)), squares_[operand], edge_inner_ * pitch_));
    OpenSquare(across_, true);
    out_.Line(
        fmt::format("{} = {}[{}];", InSquare(operand), out_.BufferName(buffer),
                    Address(vars_, Strides(operand), kernel_.operands[static_cast<std::size_t>(operand)].offset)));
    CloseSquare();
  }

  void Compute() {
    OpenSquare(inner(), OperationsPerElement(kernel_.epilogue) <= kLongChain);
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      const int buffer = Buffer(load.buffer);
      if (squares_.contains(load.buffer)) return LoadedText(out_, buffer, InSquare(load.buffer));
      const std::int64_t offset = kernel_.operands[static_cast<std::size_t>(load.buffer)].offset;
      return LoadedText(out_, buffer,
                        fmt::format("{}[{}]", out_.BufferName(buffer), Address(vars_, Strides(load.buffer), offset)));
    });
    const KernelBuffer& target = program_.buffers[static_cast<std::size_t>(kernel_.target)];
    const std::string value = DeviceExpr::Stored(expr.Text(kernel_.epilogue), kernel_.epilogue->type, target.dtype);
    std::vector<std::int64_t> strides;
    for (const auto& dim : loops_.dims) strides.push_back(dim.target_stride);
    out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), Address(vars_, strides, 0), value));
    CloseSquare();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Loops loops_;
  std::size_t across_ = 0;   // the dimension along which the turned operands lie
  std::vector<int> turned_;  // these operands
  std::int64_t threads_ = 256, edge_across_ = 1, edge_inner_ = 1, pitch_ = 1;
  std::vector<std::string> places_, vars_;  // of the dimensions: where the square begins, where an element stands
  std::string local_across_, local_inner_;
  std::map<int, std::string> squares_;
};

}  // namespace

std::vector<Setting> TurnedTileValues(const Kernel& kernel, const Limits&) {
  if (!ReadsAcross(kernel, kShortest)) return {Whole(0)};
  return {Whole(64), Whole(32), Whole(0)};
}
std::optional<std::string> CheckTurnedTile(const Kernel& kernel, const Setting& value) {
  const auto* edge = std::get_if<std::int64_t>(&value.value);
  if (edge && *edge == 0) return std::nullopt;
  if (!edge || (*edge != 16 && *edge != 32 && *edge != 64 && *edge != 128)) return "it is 0, 16, 32, 64 or 128; try 64";
  if (!ReadsAcross(kernel, kShortest)) return "nothing is read across here; try 0";
  return std::nullopt;
}

bool EmitTurnedMap(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  return IntSetting(kernel, "tile") > 0 && TurnedMap(program, kernel, out).Write();
}

}  // namespace hone::dsl
