#include "dsl/cpu/matmul_panels.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kPackRows = 32;  // of B that are packed at a time
constexpr std::int64_t kLine = 128;     // of A's row that are converted at a time

}  // namespace

MatmulPanels::MatmulPanels(const KernelProgram& program, const Kernel& kernel, Writer& writer, PanelUnit unit)
    : MatmulEmitter(program, kernel, writer), unit_(unit) {
  const auto micro = TupleSetting(kernel, "micro");
  mr_ = micro[0];
  nr_ = micro[1];
}

std::string MatmulPanels::Place(const Expr& operand, const std::vector<std::string>& index) const {
  const auto o = static_cast<std::size_t>(OperandOf(operand));
  return fmt::format("{}[{}]", writer_.BufferName(kernel_.operands[o].buffer),
                     Address(index, shape_.strides[o], kernel_.operands[o].offset));
}

std::string MatmulPanels::Unit(const Expr& input, const std::string& i, const std::string& j, const std::string& k) {
  if (!pairs()) return Text(input, shape_.Index(i, j, k));
  const bool sum = k.find(' ') != std::string::npos;
  const std::string first = fmt::format(fmt::runtime(sum ? "2 * ({})" : "2 * {}"), k), second = first + " + 1";
  // A bf16 is the upper half of a float, and reals of 8 bits are bf16s, too.
  const bool halves = !Converts(input);
  const auto bits = [&](const std::string& depth) {
    const std::string place = Place(input, shape_.Index(i, j, depth));
    return fmt::format(fmt::runtime(halves ? "static_cast<unsigned>({}.bits)"
                                           : "(__builtin_bit_cast(unsigned, static_cast<float>({})) >> 16)"),
                       place);
  };
  const std::string upper = bits(second);
  return fmt::format(
      "{} | {} << 16", bits(first),
      shape_.k.extent % 2 == 0 ? upper : fmt::format("({} < {} ? {} : 0u)", second, shape_.k.extent, upper));
}

bool MatmulPanels::Varies(const Expr& expr, std::size_t batch) const {
  bool varies = false;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad)
      varies |= shape_.batch[batch].strides[static_cast<std::size_t>(node.buffer)] != 0;
  });
  return varies;
}

std::string MatmulPanels::PackedB() {
  const std::string panels = writer_.Scratch("b_panels", UnitType(), BCount());
  WritePackB();
  const auto buffers = BuffersOf(kernel_, kernel_.inputs[1]);
  const bool prepared =
      WordSetting(kernel_, "prepack") == "auto" && !buffers.empty() && std::ranges::all_of(buffers, [&](int buffer) {
        return program_.buffers[static_cast<std::size_t>(buffer)].home == KernelBuffer::Home::kParameter;
      });
  const std::string function = "PackB_" + writer_.TargetName();
  if (prepared) {
    writer_.Prepare({.function = function, .buffers = buffers, .scratch = {panels}});
  } else {
    std::string arguments;
    for (const int buffer : buffers) arguments += writer_.BufferName(buffer) + ", ";
    writer_.Line(fmt::format("{}({}{}, {});", function, arguments, panels, writer_.parallel() ? "threads" : "1"));
  }
  return panels;
}

void MatmulPanels::WritePackB() {
  const Expr& b = kernel_.inputs[1];
  const std::int64_t n = shape_.n.extent, k = Units();
  std::string parameters;
  for (const int buffer : BuffersOf(kernel_, b)) {
    parameters +=
        fmt::format("const {}* __restrict {}, ", ElementType(program_.buffers[static_cast<std::size_t>(buffer)].dtype),
                    writer_.BufferName(buffer));
  }
  writer_.BeginFunction();
  writer_.Comment(fmt::format(
      "B as panels of {} columns, each in the order in which it is read, with zeros beyond the last column.", nr_));
  writer_.Open(fmt::format("void PackB_{}({}{}* __restrict panels, [[maybe_unused]] int threads)", writer_.TargetName(),
                           parameters, UnitType()));
  int loops = 1;
  for (std::size_t d = 0; d < shape_.batch.size(); ++d) loops += Varies(b, d) ? 1 : 0;
  writer_.ParallelFor(loops);
  for (std::size_t d = 0; d < shape_.batch.size(); ++d) {
    if (Varies(b, d)) writer_.Open(For(shape_.batch[d].var, shape_.batch[d].extent));
  }
  const bool edge = n % nr_ != 0;
  // Along the contiguous dimension: rows of B are copied, columns of a transposed B are read one after the other.
  const bool by_columns = !Contiguous(b, shape_.n.strides) && Contiguous(b, shape_.k.strides);
  const std::string panel = fmt::format("{}* __restrict to = panels + {};", UnitType(), BAddress("j", "0"));
  const std::string count = Left("columns", n, "j", nr_);
  if (by_columns) {
    // Blocks of k, so that the lines that the columns are written to stay in L1.
    writer_.Open(fmt::format("for (long j = 0; j < {}; j += {})", n, nr_));
    writer_.Line(panel);
    if (edge) writer_.Line(count);
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += 64)", k));
    writer_.Line(fmt::format("const long k_end = k0 + 64 < {} ? k0 + 64 : {};", k, k));
    writer_.Open(fmt::format("for (long c = 0; c < {}; ++c)", edge ? "columns" : fmt::format("{}", nr_)));
    writer_.Open("for (long k = k0; k < k_end; ++k)");
    writer_.Line(fmt::format("to[k * {} + c] = {};", nr_, Unit(b, "0", "j + c", "k")));
    writer_.Close();
    writer_.Close();
    if (edge) {
      writer_.Open(fmt::format("for (long c = columns; c < {}; ++c)", nr_));
      writer_.Line(fmt::format("for (long k = k0; k < k_end; ++k) to[k * {} + c] = 0;", nr_));
      writer_.Close();
    }
    writer_.Close();
    writer_.Close();
  } else {
    writer_.Comment("Some rows at a time, panel after panel: as many pages as the processor keeps track of.");
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", k, kPackRows));
    if (k % kPackRows != 0) {
      writer_.Line(fmt::format("const long k_end = k0 + {} < {} ? k0 + {} : {};", kPackRows, k, kPackRows, k));
    } else {
      writer_.Line(fmt::format("const long k_end = k0 + {};", kPackRows));
    }
    writer_.Open(fmt::format("for (long j = 0; j < {}; j += {})", n, nr_));
    writer_.Line(panel);
    if (edge) writer_.Line(count);
    writer_.Open("for (long k = k0; k < k_end; ++k)");
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long c = 0; c < {}; ++c)", edge ? "columns" : fmt::format("{}", nr_)));
    writer_.Line(fmt::format("to[k * {} + c] = {};", nr_, Unit(b, "0", "j + c", "k")));
    writer_.Close();
    if (edge) writer_.Line(fmt::format("for (long c = columns; c < {}; ++c) to[k * {} + c] = 0;", nr_, nr_));
    writer_.Close();
    writer_.Close();
    writer_.Close();
  }
  for (std::size_t d = 0; d < shape_.batch.size(); ++d) {
    if (Varies(b, d)) writer_.Close();
  }
  writer_.Close();
  writer_.EndFunction();
}

std::string MatmulPanels::BAddress(const std::string& j, const std::string& k) const {
  const std::int64_t padded = (shape_.n.extent + nr_ - 1) / nr_ * nr_;
  std::vector<std::string> index;
  std::vector<std::int64_t> strides;
  std::int64_t step = padded * Units();
  for (std::size_t d = shape_.batch.size(); d-- > 0;) {
    if (!Varies(kernel_.inputs[1], d)) continue;
    index.insert(index.begin(), shape_.batch[d].var);
    strides.insert(strides.begin(), step);
    step *= shape_.batch[d].extent;
  }
  index.insert(index.end(), {j, k});
  strides.insert(strides.end(), {Units(), nr_});
  return Address(index, strides, 0);
}

std::int64_t MatmulPanels::BCount() const {
  std::int64_t count = (shape_.n.extent + nr_ - 1) / nr_ * nr_ * Units();
  for (std::size_t d = 0; d < shape_.batch.size(); ++d)
    count *= Varies(kernel_.inputs[1], d) ? shape_.batch[d].extent : 1;
  return count;
}

bool MatmulPanels::Converts(const Expr& input) const {
  const int operand = OperandOf(input);
  if (operand < 0) return true;
  const DType held = kernel_.operand_types[static_cast<std::size_t>(operand)];
  return pairs() ? held != DType::kBF16 : ElementType(held) != writer_.real();
}

void MatmulPanels::WritePackA(bool edge) {
  const Expr& a = kernel_.inputs[0];
  const std::string filled = edge ? "filled" : fmt::format("{}", mr_);
  const auto pack_element = [&] {
    const std::string element = Unit(a, "i0 + i + r", "0", "k0 + k");
    writer_.Line(fmt::format("to[k * {} + r] = {};", mr_, element));
  };
  writer_.Comment(fmt::format("A as panels of {} rows.", mr_));
  writer_.Open(fmt::format("for (long i = 0; i < rows; i += {})", mr_));
  writer_.Line(fmt::format("{}* to = a_panels + i * depth;", UnitType()));
  if (edge) writer_.Line(fmt::format("const long filled = rows - i < {} ? rows - i : {};", mr_, mr_));
  const int operand = OperandOf(a);
  const bool by_rows = Contiguous(a, shape_.k.strides);
  if (Turns()) {
    writer_.Line("constexpr int kLanes = sizeof(FloatVector) / sizeof(float);");
    writer_.Line("long k = 0;");
    const std::string place = Converts(a)
                                  ? fmt::format("lines[(r0 + r) * {0} + k % {0}]", kLine)
                                  : Place(a, shape_.Index("i0 + i + r0 + r", "0", pairs() ? "2 * (k0 + k)" : "k0 + k"));
    if (Converts(a)) writer_.Line(fmt::format("alignas(64) {} lines[{}];", UnitType(), mr_ * kLine));
    writer_.Open("for (; k + kLanes <= depth; k += kLanes)");
    if (Converts(a)) {
      writer_.Comment("Converted along the rows, where the compiler makes vectors of it.");
      writer_.Open(fmt::format("if (k % {} == 0)", kLine));
      writer_.Line(Left("length", "depth", "k", kLine));
      writer_.Open(fmt::format("for (long r = 0; r < {}; ++r)", filled));
      writer_.Line("#pragma omp simd");
      writer_.Open("for (long c = 0; c < length; ++c)");
      const std::string unit = Unit(a, "i0 + i + r", "0", "k0 + k + c");
      writer_.Line(fmt::format("lines[r * {} + c] = {};", kLine, unit));
      writer_.Close();
      writer_.Close();
      writer_.Close();
    }
    writer_.Comment(
        "A vector of each row, turned. A row of the panel is shorter than the vector that it is written "
        "with: the next one overwrites what is too much.");
    writer_.Open(fmt::format("for (long r0 = {} / kLanes * kLanes; r0 >= 0; r0 -= kLanes)", mr_ - 1));
    writer_.Line("FloatVector block[kLanes] = {};");
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(
        fmt::format("for (long r = 0; r < kLanes; ++r) if (r0 + r < {}) block[r] = *reinterpret_cast<const "
                    "FloatVector*>(&{});",
                    filled, place));
    writer_.Line(fmt::format("Turn_{}(block);", writer_.TargetName()));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format(
        "for (int c = 0; c < kLanes; ++c) *reinterpret_cast<FloatVector*>(to + (k + c) * {} + r0) = block[c];", mr_));
    writer_.Close();
    writer_.Close();
    writer_.Open("for (; k < depth; ++k)");
    writer_.Open(fmt::format("for (long r = 0; r < {}; ++r)", filled));
    pack_element();
    writer_.Close();
    writer_.Close();
  } else {
    const std::string rows = fmt::format("for (long r = 0; r < {}; ++r)", filled);
    writer_.Open(by_rows ? rows : "for (long k = 0; k < depth; ++k)");
    if (by_rows && !Converts(a) && !pairs()) {
      writer_.Comment("The next panel's row: short rows far apart are more than the hardware foresees.");
      writer_.Line(fmt::format("for (long k = 0; k < depth; k += {}) __builtin_prefetch(&{});", writer_.wide() ? 8 : 16,
                               Element(operand, shape_.Index(fmt::format("i0 + i + {} + r", mr_), "0", "k0 + k"))));
    }
    writer_.Open(by_rows ? "for (long k = 0; k < depth; ++k)" : rows);
    pack_element();
    writer_.Close();
    writer_.Close();
  }
  if (shape_.groups() > 0) {
    writer_.Line(fmt::format(
        "for (long k = 0; filled < {0} && k < depth; ++k) for (long r = filled; r < {0}; ++r) to[k * {0} + r] = 0;",
        mr_));
  }
  writer_.Close();
}

bool MatmulPanels::Turns() const {
  const Expr& a = kernel_.inputs[0];
  if (writer_.wide() || !Contiguous(a, shape_.k.strides)) return false;
  if (Converts(a)) return true;
  const auto operand = static_cast<std::size_t>(OperandOf(a));
  if (shape_.k.strides[operand] != 1) return false;
  if (!pairs()) return true;
  // Whole pairs, at multiples of four bytes.
  const auto& strides = shape_.strides[operand];
  return shape_.k.extent % 2 == 0 && kernel_.operands[operand].offset % 2 == 0 &&
         std::all_of(strides.begin(), strides.end() - 1, [](std::int64_t stride) { return stride % 2 == 0; });
}

void MatmulPanels::WriteTurn() {
  writer_.Helper("Vector_float");
  writer_.BeginFunction();
  writer_.Comment(
      "A square block turned about its diagonal: interleaving its upper with its lower half as often as "
      "its side can be halved.");
  writer_.Line("template <int kLanes>");
  writer_.Open(fmt::format("inline void Turn_{}(FloatVector (&rows)[kLanes])", writer_.TargetName()));
  writer_.Line("#pragma GCC unroll 4");
  writer_.Open("for (int step = 1; step < kLanes; step *= 2)");
  writer_.Line("FloatVector next[kLanes];");
  writer_.Line("#pragma GCC unroll 8");
  writer_.Open("for (int r = 0; r < kLanes / 2; ++r)");
  writer_.Line("const FloatVector upper = rows[r], lower = rows[r + kLanes / 2];");
  writer_.Line("#ifdef __AVX512F__");
  writer_.Line(
      "next[2 * r] = __builtin_shufflevector(upper, lower, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);");
  writer_.Line("next[2 * r + 1] =");
  writer_.Line("__builtin_shufflevector(upper, lower, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);");
  writer_.Line("#else");
  writer_.Line("next[2 * r] = __builtin_shufflevector(upper, lower, 0, 8, 1, 9, 2, 10, 3, 11);");
  writer_.Line("next[2 * r + 1] = __builtin_shufflevector(upper, lower, 4, 12, 5, 13, 6, 14, 7, 15);");
  writer_.Line("#endif");
  writer_.Close();
  writer_.Line("#pragma GCC unroll 16");
  writer_.Line("for (int r = 0; r < kLanes; ++r) rows[r] = next[r];");
  writer_.Close();
  writer_.Close();
  writer_.EndFunction();
}

}  // namespace hone::dsl
