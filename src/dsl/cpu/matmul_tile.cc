#include "dsl/cpu/matmul_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/matmul_emitter.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kAhead = 64;      // rows of B's panel between what is multiplied and what is fetched
constexpr std::int64_t kSlack = 16;      // elements behind A's last panel, for a vector that is longer than its row
constexpr std::int64_t kPackRows = 32;   // of B that are packed at a time
constexpr std::int64_t kSumDepth = 256;  // products summed in a register before they join the block's sum

class TileEmitter : MatmulEmitter {
 public:
  using MatmulEmitter::MatmulEmitter;

  void Emit() {
    const auto tile = TupleSetting(kernel_, "tile"), micro = TupleSetting(kernel_, "micro");
    mr_ = micro[0];
    nr_ = micro[1];
    const std::int64_t m = shape_.m.extent, n = shape_.n.extent, k = shape_.k.extent;
    const std::string& real = writer_.real();
    const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; };
    const std::int64_t rows = std::min(tile[0], up(m, mr_)), columns = std::min(tile[1], up(n, nr_)),
                       depth = std::min(tile[2], k);
    const std::string pack = WordSetting(kernel_, "pack");
    pack_a_ = pack == "both" || pack == "a" || Converts(kernel_.inputs[0]);
    pack_b_ = pack == "both" || pack == "b" || Converts(kernel_.inputs[1]);
    const int b_operand = OperandOf(kernel_.inputs[1]);

    std::string panels;
    bool prepared = false;
    if (pack_b_) {
      panels = writer_.Scratch("b_panels", real, BCount());
      WritePackB();
      const auto buffers = BuffersOf(kernel_, kernel_.inputs[1]);
      prepared = WordSetting(kernel_, "prepack") == "auto" && !buffers.empty();
      for (const int buffer : buffers)
        prepared &= program_.buffers[static_cast<std::size_t>(buffer)].home == KernelBuffer::Home::kParameter;
      const std::string function = "PackB_" + writer_.TargetName();
      if (prepared) {
        writer_.Prepare({.function = function, .buffers = buffers, .scratch = {panels}});
      } else {
        std::string arguments;
        for (const int buffer : buffers) arguments += writer_.BufferName(buffer) + ", ";
        writer_.Line(fmt::format("{}({}{}, {});", function, arguments, panels, writer_.parallel() ? "threads" : "1"));
      }
    }
    WriteMultiply(depth);
    if (pack_a_ && Turns()) WriteTurn();

    // Blocks that threads take one after the other, whoever is free.
    writer_.ParallelFor(Batches() + 2, "dynamic");
    OpenBatches();
    writer_.Open(fmt::format("for (long i0 = 0; i0 < {}; i0 += {})", m, rows));
    writer_.Open(fmt::format("for (long j0 = 0; j0 < {}; j0 += {})", n, columns));
    writer_.Line(Left("rows", m, "i0", rows));
    writer_.Line(Left("columns", n, "j0", columns));
    const bool parts = depth < k;  // whose sums meet in the target, or beside it where that would round them
    if (parts && kernel_.target_type != kernel_.compute)
      sums_ = writer_.Scratch("sums", real, ElementCount(kernel_.result));
    if (pack_a_) writer_.Line(fmt::format("alignas(64) {} a_panels[{}];", real, rows * depth + kSlack));
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", k, depth));
    writer_.Line(Left("depth", k, "k0", depth));
    if (pack_a_) {
      WritePackA(m % mr_ != 0);
    }
    writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
    std::string b_text, b_step;
    if (pack_b_) {
      b_text = fmt::format("{} + {}", panels, BAddress("j0 + j", "k0"));
      b_step = fmt::format("{}", nr_);
    } else {
      b_text = "&" + Element(b_operand, shape_.Index("0", "j0 + j", "k0"));
      b_step = fmt::format("{}", shape_.k.strides[static_cast<std::size_t>(b_operand)]);
    }
    writer_.Line(fmt::format("const {}* b_panel = {};", real, b_text));
    writer_.Open(fmt::format("for (long i = 0; i < rows; i += {})", mr_));
    writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
    const bool edge_columns = n % nr_ != 0 || columns % nr_ != 0;
    WriteStore(parts, k, depth);
    const auto block = [&](std::int64_t block_rows) {
      const std::string lines = fmt::format("for (long r = 0; r < {}; ++r) __builtin_prefetch(", block_rows);
      writer_.Comment("The lines of the result come while it is computed.");
      for (std::int64_t c = 0; c < nr_; c += writer_.wide() ? 8 : 16)
        writer_.Line(
            fmt::format("{}&{}, 1);", lines, Target("i0 + i + r", c ? fmt::format("j0 + j + {}", c) : "j0 + j")));
      std::string a_text = "a_panels + i * depth";
      if (!pack_a_) {
        const int a_operand = OperandOf(kernel_.inputs[0]);
        writer_.Line(fmt::format("const {}* a_rows[{}];", real, block_rows));
        writer_.Line(fmt::format("for (long r = 0; r < {}; ++r) a_rows[r] = &{};", block_rows,
                                 Element(a_operand, shape_.Index("i0 + i + r", "0", "k0"))));
        a_text = fmt::format("a_rows, {}", shape_.k.strides[static_cast<std::size_t>(a_operand)]);
      }
      writer_.Line(fmt::format("Multiply_{}<{}>(depth, {}, b_panel, {}, tile);", writer_.TargetName(), block_rows,
                               a_text, b_step));
      writer_.Line(fmt::format(
          "store({}, {});", block_rows,
          edge_columns ? fmt::format("columns - j < {} ? columns - j : {}", nr_, nr_) : fmt::format("{}", nr_)));
    };
    if (m % mr_ == 0) {
      block(mr_);
    } else if (m < mr_) {
      block(m);
    } else {
      writer_.Open(fmt::format("if (i + {} <= rows)", mr_));
      block(mr_);
      writer_.Close(" else {");
      writer_.Indent();
      block(m % mr_);
      writer_.Close();
    }
    writer_.Close();
    writer_.Close();
    writer_.Close();
    writer_.Close();
    writer_.Close();
    CloseBatches();
  }

 private:
  bool Varies(const Expr& expr, std::size_t batch) const {
    bool varies = false;
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad)
        varies |= shape_.batch[batch].strides[static_cast<std::size_t>(node.buffer)] != 0;
    });
    return varies;
  }

  // Writes PackB_y: all of B as panels of `nr` columns, [panel][k][nr], with zeros beyond the last column.
  void WritePackB() {
    const Expr& b = kernel_.inputs[1];
    const std::int64_t n = shape_.n.extent, k = shape_.k.extent;
    std::string parameters;
    for (const int buffer : BuffersOf(kernel_, b)) {
      parameters += fmt::format("const {}* __restrict {}, ",
                                ElementType(program_.buffers[static_cast<std::size_t>(buffer)].dtype),
                                writer_.BufferName(buffer));
    }
    writer_.BeginFunction();
    writer_.Comment(fmt::format(
        "B as panels of {} columns, each in the order in which it is read, with zeros beyond the last column.", nr_));
    writer_.Open(fmt::format("void PackB_{}({}{}* __restrict panels, [[maybe_unused]] int threads)",
                             writer_.TargetName(), parameters, writer_.real()));
    int loops = 1;
    for (std::size_t d = 0; d < shape_.batch.size(); ++d) loops += Varies(b, d) ? 1 : 0;
    writer_.ParallelFor(loops);
    for (std::size_t d = 0; d < shape_.batch.size(); ++d) {
      if (Varies(b, d)) writer_.Open(For(shape_.batch[d].var, shape_.batch[d].extent));
    }
    const bool edge = n % nr_ != 0;
    // Along the contiguous dimension: rows of B are copied, columns of a transposed B are read one after the other.
    const bool by_columns = !Contiguous(b, shape_.n.strides) && Contiguous(b, shape_.k.strides);
    const std::string panel = fmt::format("{}* __restrict to = panels + {};", writer_.real(), BAddress("j", "0"));
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
      writer_.Line(fmt::format("to[k * {} + c] = {};", nr_, Text(b, shape_.Index("0", "j + c", "k"))));
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
      writer_.Line(fmt::format("to[k * {} + c] = {};", nr_, Text(b, shape_.Index("0", "j + c", "k"))));
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

  // Where the packed panel of columns from `j` (a multiple of nr) on holds its row k.
  std::string BAddress(const std::string& j, const std::string& k) const {
    const std::int64_t padded = (shape_.n.extent + nr_ - 1) / nr_ * nr_;
    std::vector<std::string> index;
    std::vector<std::int64_t> strides;
    std::int64_t step = padded * shape_.k.extent;
    for (std::size_t d = shape_.batch.size(); d-- > 0;) {
      if (!Varies(kernel_.inputs[1], d)) continue;
      index.insert(index.begin(), shape_.batch[d].var);
      strides.insert(strides.begin(), step);
      step *= shape_.batch[d].extent;
    }
    index.insert(index.end(), {j, k});
    strides.insert(strides.end(), {shape_.k.extent, nr_});
    return Address(index, strides, 0);
  }

  std::int64_t BCount() const {
    std::int64_t count = (shape_.n.extent + nr_ - 1) / nr_ * nr_ * shape_.k.extent;
    for (std::size_t d = 0; d < shape_.batch.size(); ++d)
      count *= Varies(kernel_.inputs[1], d) ? shape_.batch[d].extent : 1;
    return count;
  }

  void WriteMultiply(std::int64_t depth) {
    const std::string& real = writer_.real();
    const std::int64_t element = writer_.wide() ? 8 : 4;
    // Vectors as wide as the processor's where the block is a multiple of them, else of 32 bytes.
    std::string vector;
    if (nr_ * element % 64 == 0) {
      writer_.Helper("Vector_" + real);
      vector = writer_.wide() ? "DoubleVector" : "FloatVector";
    } else {
      vector = writer_.Fresh("Vector_" + writer_.TargetName());
    }
    writer_.BeginFunction();
    if (nr_ * element % 64 != 0) {
      writer_.Line(fmt::format("typedef {} {} __attribute__((vector_size(32), aligned({}), may_alias));", real, vector,
                               element));
    }
    const std::int64_t parts = (depth + kSumDepth - 1) / kSumDepth, part = ((depth + parts - 1) / parts + 3) / 4 * 4;
    writer_.Comment(
        fmt::format("tile = the products of kRows rows of A and {} columns of B over `depth`, summed in "
                    "registers{}.",
                    nr_, parts > 1 ? fmt::format(", {} at a time", part) : ""));
    const std::string a = pack_a_ ? fmt::format("const {}* __restrict a", real)
                                  : fmt::format("const {}* const* __restrict a, long a_step", real);
    // On its own, so that nothing of the loops around it takes one of the registers, which the sums fill.
    writer_.Line("template <int kRows>");
    writer_.Open(fmt::format(
        "[[gnu::noinline]] void Multiply_{}(long depth, {}, const {}* __restrict b, long b_step, {}* __restrict tile)",
        writer_.TargetName(), a, real, real));
    writer_.Line(
        fmt::format("constexpr int kLanes = sizeof({}) / sizeof({}), kVectors = {} / kLanes;", vector, real, nr_));
    if (parts > 1) {
      writer_.Open(fmt::format("for (long from = 0; from < depth; from += {})", part));
      writer_.Line(fmt::format("const long to = from + {} < depth ? from + {} : depth;", part, part));
    }
    writer_.Line(fmt::format("{} sum[kRows][kVectors] = {{}};", vector));
    writer_.Open(parts > 1 ? "for (long k = from; k < to; ++k)" : "for (long k = 0; k < depth; ++k)");
    writer_.Line(fmt::format("{} row[kVectors];", vector));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format(
        "for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const {}*>(b + k * b_step + v * kLanes);",
        vector));
    if (pack_b_) {
      writer_.Line("#pragma GCC unroll 16");
      writer_.Line(fmt::format(
          "for (int v = 0; v < kVectors; ++v) __builtin_prefetch(b + (k + {}) * b_step + v * kLanes);", kAhead));
    }
    writer_.Line("#pragma GCC unroll 32");
    writer_.Open("for (int r = 0; r < kRows; ++r)");
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) sum[r][v] += {} * row[v];",
                             pack_a_ ? fmt::format("a[k * {} + r]", mr_) : "a[r][k * a_step]"));
    writer_.Close();
    writer_.Close();
    writer_.Line("#pragma GCC unroll 32");
    writer_.Open("for (int r = 0; r < kRows; ++r)");
    writer_.Line("#pragma GCC unroll 16");
    writer_.Open("for (int v = 0; v < kVectors; ++v)");
    writer_.Line(fmt::format("auto* at = reinterpret_cast<{}*>(tile + r * {} + v * kLanes);", vector, nr_));
    writer_.Line(parts > 1 ? "*at = from == 0 ? sum[r][v] : *at + sum[r][v];" : "*at = sum[r][v];");
    writer_.Close();
    writer_.Close();
    if (parts > 1) writer_.Close();
    writer_.Close();
    writer_.EndFunction();
  }

  // What is of another type than the products is converted on the way into its panels.
  bool Converts(const Expr& input) const {
    const int operand = OperandOf(input);
    if (operand < 0) return true;
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    return ElementType(program_.buffers[static_cast<std::size_t>(buffer)].dtype) != writer_.real();
  }

  // Rows i0.. and depth k0.. of A as panels of `mr` rows, [panel][k][mr]. What lies below the last row is not read.
  void WritePackA(bool edge) {
    const Expr& a = kernel_.inputs[0];
    const std::string filled = edge ? "filled" : fmt::format("{}", mr_);
    const std::string element = Text(a, shape_.Index("i0 + i + r", "0", "k0 + k"));
    writer_.Comment(fmt::format("A as panels of {} rows.", mr_));
    writer_.Open(fmt::format("for (long i = 0; i < rows; i += {})", mr_));
    writer_.Line(fmt::format("{}* to = a_panels + i * depth;", writer_.real()));
    if (edge) writer_.Line(fmt::format("const long filled = rows - i < {} ? rows - i : {};", mr_, mr_));
    const int operand = OperandOf(a);
    const bool by_rows = Contiguous(a, shape_.k.strides);
    if (Turns()) {
      writer_.Line("constexpr int kLanes = sizeof(FloatVector) / sizeof(float);");
      writer_.Line("long k = 0;");
      writer_.Open("for (; k + kLanes <= depth; k += kLanes)");
      writer_.Comment(
          "A vector of each row, turned. A row of the panel is shorter than the vector that it is written "
          "with: the next one overwrites what is too much.");
      writer_.Open(fmt::format("for (long r0 = {} / kLanes * kLanes; r0 >= 0; r0 -= kLanes)", mr_ - 1));
      writer_.Line("FloatVector block[kLanes] = {};");
      writer_.Line("#pragma GCC unroll 16");
      writer_.Line(
          fmt::format("for (long r = 0; r < kLanes; ++r) if (r0 + r < {}) block[r] = *reinterpret_cast<const "
                      "FloatVector*>(&{});",
                      filled, Text(a, shape_.Index("i0 + i + r0 + r", "0", "k0 + k"))));
      writer_.Line(fmt::format("Turn_{}(block);", writer_.TargetName()));
      writer_.Line("#pragma GCC unroll 16");
      writer_.Line(fmt::format(
          "for (int c = 0; c < kLanes; ++c) *reinterpret_cast<FloatVector*>(to + (k + c) * {} + r0) = block[c];", mr_));
      writer_.Close();
      writer_.Close();
      writer_.Open("for (; k < depth; ++k)");
      writer_.Line(fmt::format("for (long r = 0; r < {}; ++r) to[k * {} + r] = {};", filled, mr_, element));
      writer_.Close();
    } else {
      const std::string rows = fmt::format("for (long r = 0; r < {}; ++r)", filled);
      writer_.Open(by_rows ? rows : "for (long k = 0; k < depth; ++k)");
      if (by_rows && !Converts(a)) {
        writer_.Comment("The next panel's row: short rows far apart are more than the hardware foresees.");
        writer_.Line(fmt::format("for (long k = 0; k < depth; k += {}) __builtin_prefetch(&{});",
                                 writer_.wide() ? 8 : 16,
                                 Element(operand, shape_.Index(fmt::format("i0 + i + {} + r", mr_), "0", "k0 + k"))));
      }
      writer_.Open(by_rows ? "for (long k = 0; k < depth; ++k)" : rows);
      writer_.Line(fmt::format("to[k * {} + r] = {};", mr_, Text(a, shape_.Index("i0 + i + r", "0", "k0 + k"))));
      writer_.Close();
      writer_.Close();
    }
    writer_.Close();
  }

  // Whether A is packed by vectors along its rows.
  bool Turns() const {
    const int operand = OperandOf(kernel_.inputs[0]);
    return operand >= 0 && !writer_.wide() && !Converts(kernel_.inputs[0]) &&
           shape_.k.strides[static_cast<std::size_t>(operand)] == 1;
  }

  void WriteTurn() {
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
    writer_.Line(
        "__builtin_shufflevector(upper, lower, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);");
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

  // `store`, from the tile to the target: adds what earlier parts of K left there, and applies the epilogue after the
  // last.
  void WriteStore(bool parts, std::int64_t k, std::int64_t depth) {
    const auto loops = [&](const std::function<void()>& body) {
      writer_.Open("for (long r = 0; r < tile_rows; ++r)");
      writer_.Line("#pragma omp simd");
      writer_.Open("for (long c = 0; c < tile_columns; ++c)");
      body();
      writer_.Close();
      writer_.Close();
    };
    const std::string sum = fmt::format("tile[r * {} + c]", nr_), row = "i0 + i + r", column = "j0 + j + c";
    const auto finish = [&](const std::string& it) {
      loops([&] {
        std::string value = it;
        if (!IsValue(kernel_.epilogue, kIt)) {
          if (it.find(' ') != std::string::npos && it != sum) {
            writer_.Line(fmt::format("const {} product = {};", writer_.real(), it));
            value = "product";
          }
        }
        value = Text(kernel_.epilogue, shape_.Index(row, column, "0"), value);
        writer_.Line(fmt::format("{} = {};", Target(row, column), value));
      });
    };
    writer_.Open("const auto store = [&](long tile_rows, long tile_columns)");
    if (!parts) {
      finish(sum);
    } else {
      std::string before = Target(row, column);
      if (!sums_.empty()) before.replace(0, writer_.TargetName().size(), sums_);
      writer_.Open("if (k0 == 0)");
      loops([&] { writer_.Line(fmt::format("{} = {};", before, sum)); });
      writer_.Close(fmt::format(" else if (k0 + {} < {}) {{", depth, k));
      writer_.Indent();
      loops([&] { writer_.Line(fmt::format("{} += {};", before, sum)); });
      writer_.Close(" else {");
      writer_.Indent();
      finish(fmt::format("{} + {}", before, sum));
      writer_.Close();
    }
    writer_.Close(";");
  }

  std::int64_t mr_ = 8, nr_ = 32;
  bool pack_a_ = true, pack_b_ = true;
  std::string sums_;  // of parts of K, as the target lies; empty where it holds them itself
};

}  // namespace

void EmitMatmulTile(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  TileEmitter(program, kernel, writer).Emit();
}

}  // namespace hone::dsl
