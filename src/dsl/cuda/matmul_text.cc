#include "dsl/cuda/matmul_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsl/cuda/expr.h"

namespace hone::dsl {

MatmulText::MatmulText(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, MatmulShape seen)
    : shape(std::move(seen)), program_(program), kernel_(kernel), out_(out) {
  constexpr std::int64_t kMostInt = (std::int64_t{1} << 31) - (1 << 16);  // tiles may go beyond the end
  const auto look = [&](int buffer) {
    if (ElementCount(program.buffers[static_cast<std::size_t>(buffer)].shape) >= kMostInt) index = "long";
  };
  for (const auto& operand : kernel.operands) look(operand.buffer);
  look(kernel.target);
}

std::int64_t MatmulText::Batches() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.batch.size(); ++d) count *= IsChosen(d) ? 1 : shape.batch[d].extent;
  return count;
}

std::int64_t MatmulText::ResultBatches() const { return shape.groups() > 0 ? 1 : Batches(); }

bool MatmulText::Varies(int input, std::size_t batch) const {
  bool varies = false;
  Visit(Input(input), [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad)
      varies |= shape.batch[batch].strides[static_cast<std::size_t>(node.buffer)] != 0;
  });
  return varies;
}

std::int64_t MatmulText::BatchesOf(int input) const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.batch.size(); ++d) count *= Varies(input, d) ? shape.batch[d].extent : 1;
  return count;
}

std::int64_t MatmulText::BatchStride(int input, std::int64_t otherwise) const {
  std::int64_t stride = otherwise;
  for (std::size_t d = 0; d < shape.batch.size(); ++d) {
    if (Varies(input, d)) stride = shape.batch[d].strides[static_cast<std::size_t>(Input(input)->buffer)];
  }
  return stride;
}

const KernelOperand* MatmulText::Plain(int input) const {
  const Expr& expr = Input(input);
  if (expr->kind != Expr::Kind::kLoad) return nullptr;
  return &kernel_.operands[static_cast<std::size_t>(expr->buffer)];
}

std::int64_t MatmulText::Stride(int input, bool along_k) const {
  const LoopDim& dim = along_k ? shape.k : input == 0 ? shape.m : shape.n;
  std::int64_t stride = 0;
  Visit(Input(input), [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    const std::int64_t here = dim.strides[static_cast<std::size_t>(node.buffer)];
    if (here == 0) return;
    stride = stride == 0 || stride == here ? here : -1;
  });
  return stride;
}

bool MatmulText::InPacks(int input, bool along_k) const {
  const KernelOperand* operand = Plain(input);
  if (!operand || program_.buffers[static_cast<std::size_t>(operand->buffer)].dtype != DType::kF32) return false;
  const auto o = static_cast<std::size_t>(Input(input)->buffer);
  const LoopDim& rows = input == 0 ? shape.m : shape.n;
  const LoopDim& inner = along_k ? shape.k : rows;
  const LoopDim& outer = along_k ? rows : shape.k;
  if (inner.strides[o] != 1 || inner.extent % 4 != 0 || outer.strides[o] % 4 != 0 || operand->offset % 4 != 0)
    return false;
  return std::all_of(shape.batch.begin(), shape.batch.end(),
                     [&](const LoopDim& dim) { return dim.strides[o] % 4 == 0; });
}

bool MatmulText::Constant(int input) const {
  const std::vector<int> buffers = BuffersOf(kernel_, Input(input));
  return std::all_of(buffers.begin(), buffers.end(), [&](int buffer) {
    const KernelBuffer& read = program_.buffers[static_cast<std::size_t>(buffer)];
    return read.home == KernelBuffer::Home::kParameter || read.fixed;
  });
}

std::vector<std::string> MatmulText::OpenBatches(const std::string& batch, int input) const {
  std::vector<std::string> names(shape.batch.size(), "0");
  std::vector<std::size_t> which;
  for (std::size_t d = 0; d < shape.batch.size(); ++d) {
    if (input < 0 ? !IsChosen(d) : Varies(input, d)) which.push_back(d);
  }
  std::int64_t step = 1;
  for (std::size_t i = which.size(); i-- > 0;) {
    const LoopDim& dim = shape.batch[which[i]];
    std::string text = step == 1 ? batch : fmt::format("{} / {}", batch, step);
    if (i > 0) text += fmt::format(" % {}", dim.extent);
    step *= dim.extent;
    names[which[i]] = out_.Fresh(dim.var);
    out_.Line(fmt::format("const {} {} = {};", index, names[which[i]], text));
  }
  for (std::size_t d = 0; input < 0 && d < shape.batch.size(); ++d) {
    if (!IsChosen(d)) continue;
    const std::string number = Text(kernel_.inputs[2], Places(names, "0", "0", "0"), {});
    names[d] = out_.Fresh(shape.batch[d].var);
    out_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2});", index, names[d], number));
  }
  return names;
}

std::string MatmulText::BatchOf(int input, const std::vector<std::string>& batches) const {
  std::vector<std::int64_t> strides(batches.size(), 0);
  std::int64_t step = 1;
  for (std::size_t d = batches.size(); d-- > 0;) {
    if (!Varies(input, d)) continue;
    strides[d] = step;
    step *= shape.batch[d].extent;
  }
  return Address(batches, strides, 0);
}

std::vector<std::string> MatmulText::Places(const std::vector<std::string>& batches, const std::string& m,
                                            const std::string& n, const std::string& k) const {
  std::vector<std::string> places = batches;
  for (std::string& place : shape.Heads(n)) places.push_back(std::move(place));
  places.insert(places.end(), {m, shape.Column(n), k});
  return places;
}

std::string MatmulText::Text(const Expr& expr, const std::vector<std::string>& places,
                             const std::vector<std::string>& its, Accuracy accuracy,
                             const std::map<int, std::string>& loaded) const {
  DeviceExpr text(out_, [&](const ExprNode& load) {
    if (load.kind == Expr::Kind::kValue) {
      if (load.value == kIt) return its[0];
      return load.value.kind == NamedValue::Kind::kIt ? its.back()
                                                      : its[static_cast<std::size_t>(load.value.number) + 1];
    }
    const auto o = static_cast<std::size_t>(load.buffer);
    const KernelOperand& operand = kernel_.operands[o];
    const auto known = loaded.find(load.buffer);
    return LoadedText(out_, operand.buffer,
                      known != loaded.end() ? known->second
                                            : fmt::format("{}[{}]", out_.BufferName(operand.buffer),
                                                          Address(places, shape.strides[o], operand.offset)));
  });
  if (accuracy == Accuracy::kCoarse) text.BeCoarseWhereRounded({expr}, {kernel_.target_type});
  // Of each of a tile's scores: a quotient takes ten instructions, and is half a unit nearer.
  if (accuracy == Accuracy::kScore) text.Reciprocals([&](const Expr& divisor) { return InverseText(out_, divisor); });
  return text.Text(expr);
}

std::string MatmulText::Element(int input, const std::vector<std::string>& batches, const std::string& row,
                                const std::string& k) const {
  return Text(Input(input), input == 0 ? Places(batches, row, "0", k) : Places(batches, "0", row, k), {});
}

std::string MatmulText::AddressOf(int input, const std::vector<std::string>& batches, const std::string& row,
                                  const std::string& k) const {
  const KernelOperand* operand = Plain(input);
  const auto o = static_cast<std::size_t>(Input(input)->buffer);
  return fmt::format("{} + {}", out_.BufferName(operand->buffer),
                     Address(input == 0 ? Places(batches, row, "0", k) : Places(batches, "0", row, k), shape.strides[o],
                             operand->offset));
}

std::string MatmulText::Result(const std::vector<std::string>& batches, const std::string& m, const std::string& n,
                               const std::vector<std::string>& its, const std::map<int, std::string>& loaded) const {
  return DeviceExpr::Stored(Text(kernel_.epilogue, Places(batches, m, n, "0"), its, Accuracy::kFull, loaded),
                            kernel_.epilogue->type, program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype);
}

std::string MatmulText::Also(const KernelAlso& also, const std::vector<std::string>& batches, const std::string& m,
                             const std::string& n, const std::string& it) const {
  const std::vector<std::string> places = Places(batches, m, n, "0");
  return fmt::format("{}[{}] = {};", out_.BufferName(also.target), Address(places, shape.target, 0),
                     DeviceExpr::Stored(Text(also.value, places, {it}), also.value->type, also.target_type));
}

std::string MatmulText::CoarseValue(const std::vector<std::string>& batches, const std::string& m, const std::string& n,
                                    const std::vector<std::string>& its,
                                    const std::map<int, std::string>& loaded) const {
  return Text(kernel_.epilogue, Places(batches, m, n, "0"), its, Accuracy::kCoarse, loaded);
}

std::string MatmulText::Score(const Expr& score, const std::vector<std::string>& batches, const std::string& m,
                              const std::string& n) const {
  return Text(score, Places(batches, m, n, "0"), {"it"}, Accuracy::kScore);
}

std::string MatmulText::ScaleOfBlock(const std::string& row, const std::string& column, const std::string& k) const {
  DeviceExpr text(out_, [&](const ExprNode& load) {
    const KernelOperand& operand = kernel_.operands[static_cast<std::size_t>(load.buffer)];
    return LoadedText(
        out_, operand.buffer,
        fmt::format("{}[{}]", out_.BufferName(operand.buffer),
                    Address({row, column, k}, {operand.strides.begin(), operand.strides.begin() + 3}, operand.offset)));
  });
  return text.Text(kernel_.lets[0].body);
}

const std::string& MatmulText::Name(int operand) const {
  return out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer);
}

std::string MatmulText::Place(int operand, const std::vector<std::string>& batches, const std::string& m,
                              const std::string& n) const {
  const auto o = static_cast<std::size_t>(operand);
  return Address(Places(batches, m, n, "0"), shape.strides[o], kernel_.operands[o].offset);
}

std::string MatmulText::Target(const std::vector<std::string>& batches, const std::string& m,
                               const std::string& n) const {
  return fmt::format("{}[{}]", out_.TargetName(), Address(Places(batches, m, n, "0"), shape.target, 0));
}

void MatmulText::EmitSums(const std::string& partial, std::int64_t parts) const {
  const std::int64_t m = shape.m.extent, n = shape.n.extent, count = Batches() * m * n;
  constexpr std::int64_t kThreads = 256;
  out_.BeginKernel("sums", kThreads);
  out_.Line(fmt::format("const {0} place = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index, kThreads));
  if (count % kThreads != 0) out_.Line(fmt::format("if (place >= {}) return;", count));
  out_.Line(fmt::format("const {0} batch = place / {1}, m = place / {2} % {3}, n = place % {2};", index, m * n, n, m));
  const std::vector<std::string> batches = OpenBatches("batch", -1);
  out_.Line(fmt::format("{} it = 0;", out_.Type(kernel_.inputs[0]->type)));
  out_.Line("#pragma unroll 8");
  out_.Line(fmt::format("for (int i = 0; i < {}; ++i) it += {}[i * {}l + place];", parts, partial, count));
  out_.Line(fmt::format("{} = {};", Target(batches, "m", "n"), Result(batches, "m", "n", {"it"})));
  DeviceWriter::LaunchShape launch = Reading(kernel_.epilogue);
  ReadChoice(launch);
  launch.grid_x = (count + kThreads - 1) / kThreads;
  launch.writes = {kernel_.target};
  launch.scratch_reads = {partial};
  launch.aside = true;
  out_.Launch(launch);
}

DeviceWriter::LaunchShape MatmulText::Reading(const Expr& expr) const {
  DeviceWriter::LaunchShape launch;
  launch.reads = BuffersOf(kernel_, expr);
  return launch;
}

void MatmulText::ReadChoice(DeviceWriter::LaunchShape& launch) const {
  if (!HasChoice(kernel_)) return;
  for (const int buffer : BuffersOf(kernel_, kernel_.inputs[2])) {
    if (std::ranges::find(launch.reads, buffer) == launch.reads.end()) launch.reads.push_back(buffer);
  }
}

}  // namespace hone::dsl
