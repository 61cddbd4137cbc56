// matmul(A, B): products of the matrices in the last two dimensions, the others are batches. Three ways to go, by the
// knob `path`:
//
//   tile    for compute-bound sizes: A and B are packed into panels, a block of the result is held in registers
//   (`micro`), blocks of
//           A stay in the second-level cache (`tile`), and the epilogue is applied while the block is still in L1
//   dot     few rows or columns, both operands contiguous in K: dot products, bound by reading the larger operand once
//   stream  few rows, B contiguous in N: rows of B stream by and are added into accumulators in L1
#include "dsl/cuda/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "dsl/cpu/writer.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/loops.h"
#include "dsl/matmul_shape.h"

namespace hone::dsl {
namespace {

using Shape3 = MatmulShape;

constexpr std::int64_t kFewRows = 8;      // up to here reading the other operand once is all that matters
constexpr std::int64_t kAhead = 64;       // rows of B's panel between what is multiplied and what is fetched
constexpr std::int64_t kSlack = 16;       // elements behind A's last panel, for a vector that is longer than its row
constexpr std::int64_t kPackRows = 32;    // of B that are packed at a time
constexpr std::int64_t kSumDepth = 256;   // products summed in a register before they join the block's sum
constexpr std::int64_t kDotBlock = 4096;  // products summed before they join the total: bounds the rounding error

int OperandOf(const Expr& expr) { return expr->kind == Expr::Kind::kLoad && expr->buffer >= 0 ? expr->buffer : -1; }

// Whether every operand of the expression is contiguous in, or does not vary along, the dimension.
bool Contiguous(const Expr& expr, const std::vector<std::int64_t>& strides_of_dim) {
  bool all = true;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.buffer < 0) return;
    const std::int64_t stride = strides_of_dim[static_cast<std::size_t>(node.buffer)];
    all &= stride == 1 || stride == 0;
  });
  return all;
}

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape& a = shapes[0];
  const Shape& b = shapes[1];
  if (a.size() < 2 || b.size() < 2) {
    return fmt::format("matmul wants matrices, not {} and {}: take views with two dimensions at least",
                       hone::ToString(a), hone::ToString(b));
  }
  const std::int64_t depth = a[a.size() - 1];
  if (depth != b[b.size() - 2]) {
    return fmt::format(
        "matmul of {} and {}: A's columns ({}) must be as many as B's rows ({}); a transpose is a view with swapped "
        "strides",
        hone::ToString(a), hone::ToString(b), depth, b[b.size() - 2]);
  }
  const std::size_t batches = std::max(a.size(), b.size()) - 2;
  for (std::size_t d = 0; d < batches; ++d) {
    const auto extent = [&](const Shape& shape) {
      const std::size_t missing = batches + 2 - shape.size();
      return d < missing ? 1 : shape[d - missing];
    };
    if (extent(a) != extent(b) && extent(a) != 1 && extent(b) != 1) {
      return fmt::format("matmul of {} and {}: the batches do not broadcast", hone::ToString(a), hone::ToString(b));
    }
    kernel.space.push_back(NewIndex(std::max(extent(a), extent(b))));
  }
  kernel.space.push_back(NewIndex(a[a.size() - 2]));
  kernel.space.push_back(NewIndex(b[b.size() - 1]));
  kernel.space.push_back(NewIndex(depth));
  const int rank = static_cast<int>(kernel.space.size());
  kernel.axes = {rank - 1};
  operand_dims.assign(2, {});
  for (int d = 0; d < rank - 3; ++d) {
    operand_dims[0].push_back(d);
    operand_dims[1].push_back(d);
  }
  operand_dims[0].insert(operand_dims[0].end(), {rank - 3, rank - 1});
  operand_dims[1].insert(operand_dims[1].end(), {rank - 1, rank - 2});
  return std::nullopt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (const auto& input : kernel.inputs) {
    if (input->type != ScalarType::kReal) return "matmul multiplies reals: write real(x) around whole numbers";
  }
  const DType target = program.buffers[static_cast<std::size_t>(kernel.target)].dtype;
  if (target != ComputeType(program, kernel) && target != DType::kF16 && target != DType::kBF16) {
    return fmt::format("matmul computes in {} here and cannot write {}: convert in a map of its own",
                       Name(ComputeType(program, kernel)), Name(target));
  }
  return std::nullopt;
}

double Flops(const Kernel& kernel) {
  double results = 1;
  for (const auto extent : kernel.result) results *= static_cast<double>(extent);
  return 2 * SpaceCount(kernel) + results * OperationsPerElement(kernel.epilogue);
}

// --- Knobs.

std::vector<Setting> MatmulThreads(const Kernel& kernel, const Limits& limits) {
  const bool small = SpaceCount(kernel) < 300e3;  // ten microseconds of one core
  std::vector<Setting> values =
      small ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (limits.threads >= 4) values.push_back(Whole(limits.threads / 2));
  return values;
}

std::vector<Setting> PathValues(const Kernel& kernel, const Limits&) {
  const Shape3 shape(kernel);
  const bool dots = Contiguous(kernel.inputs[0], shape.k.strides) && Contiguous(kernel.inputs[1], shape.k.strides);
  const bool streams = Contiguous(kernel.inputs[1], shape.n.strides);
  std::vector<Setting> values;
  if (dots && std::min(shape.m.extent, shape.n.extent) <= kFewRows) values.push_back(Word("dot"));
  if (streams && shape.m.extent <= kFewRows) values.push_back(Word("stream"));
  values.push_back(Word("tile"));
  if (values.size() == 1 && dots && std::min(shape.m.extent, shape.n.extent) <= 4 * kFewRows)
    values.push_back(Word("dot"));
  return values;
}
std::optional<std::string> CheckPath(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"tile", "dot", "stream"})) return why;
  if (std::get<std::string>(value.value) == "stream" && Shape3(kernel).m.extent > 32) {
    return fmt::format("stream holds all {} rows of A at once, 32 are possible; try tile", Shape3(kernel).m.extent);
  }
  return std::nullopt;
}

// Batches of small matrices lie in the caches as they are: packing them is as much work as it spares.
bool StaysUnpacked(const Shape3& shape, const Limits& limits) {
  return !shape.batch.empty() && shape.m.extent <= 256 && shape.k.extent * shape.n.extent * 4 <= limits.l2_bytes / 8;
}

std::vector<Setting> MicroValues(const Kernel& kernel, const Limits& limits) {
  const Shape3 shape(kernel);
  // Rows x columns in registers: 32 of 16 floats with AVX-512, 16 of 8 with AVX2, less what B and the broadcast need.
  std::vector<std::array<std::int64_t, 2>> blocks;
  if (limits.vector_bytes >= 64) {
    blocks = {{14, 32}, {12, 32}, {8, 48}, {8, 32}, {6, 64}, {4, 32}};
  } else {
    blocks = {{6, 16}, {4, 24}, {4, 16}, {8, 8}};
  }
  // The default wastes least in the last panels; ties go to the earlier, which does more products a load.
  const auto waste = [&](const std::array<std::int64_t, 2>& block) {
    const auto padded = [](std::int64_t extent, std::int64_t step) {
      return static_cast<double>((extent + step - 1) / step * step);
    };
    // The last panel has as many rows as are left, but fewer than four do not keep the multipliers busy.
    const std::int64_t left = shape.m.extent % block[0];
    const double rows = static_cast<double>(shape.m.extent - left + (left ? std::max<std::int64_t>(left, 4) : 0));
    const double used = rows * padded(shape.n.extent, block[1]) /
                        (static_cast<double>(shape.m.extent) * static_cast<double>(shape.n.extent));
    // Loads a product: one row of B and one broadcast each.
    const double loads = 1.0 / static_cast<double>(block[0]) + 16.0 / static_cast<double>(block[1]) * 0.1;
    return used * (1 + 0.3 * loads);
  };
  std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) { return waste(a) < waste(b); });
  // Rows of A that lie apart want a register each for their addresses: few rows, and more columns for it.
  if (limits.vector_bytes >= 64 && StaysUnpacked(shape, limits) && shape.n.extent % 64 == 0) {
    std::stable_partition(blocks.begin(), blocks.end(),
                          [](const auto& block) { return block[0] == 6 && block[1] == 64; });
  }
  std::vector<Setting> values;
  for (const auto& block : blocks) values.push_back(Tuple({block[0], block[1]}));
  return values;
}
std::optional<std::string> CheckMicro(const Kernel&, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 8x32";
  if ((*tuple)[0] < 1 || (*tuple)[0] > 32) return "the first goes from 1 to 32; try 8";
  if ((*tuple)[1] < 8 || (*tuple)[1] > 128 || (*tuple)[1] % 8 != 0) {
    return fmt::format("the second must be a multiple of 8 up to 128; try {}",
                       std::clamp<std::int64_t>(((*tuple)[1] + 7) / 8 * 8, 8, 128));
  }
  return std::nullopt;
}

constexpr std::int64_t kMostABlock = 1 << 18;  // elements of A's block, which lies on the thread's stack

// Cycles that the busiest thread spends on a product of depth 1 in blocks of rows x columns: two vectors of 16 products
// a cycle, and for each block A's rows are packed and B's panels fetched. The factors are measured on a Xeon with
// AVX-512 (2026-11); only their order of size matters.
double BlockingCost(const Shape3& shape, double batches, std::int64_t rows, std::int64_t columns, int threads) {
  const auto cost = [&](std::int64_t r, std::int64_t c) {
    const auto height = static_cast<double>(r), width = static_cast<double>(c);
    return height * width / 32 + height * 0.5 + width * 0.25 + 20;
  };
  const std::int64_t m = shape.m.extent, n = shape.n.extent;
  const double down = static_cast<double>(m / rows), across = static_cast<double>(n / columns);
  const double whole = cost(rows, columns), low = m % rows ? cost(m % rows, columns) : 0,
               narrow = n % columns ? cost(rows, n % columns) : 0,
               corner = m % rows && n % columns ? cost(m % rows, n % columns) : 0;
  const double sum = batches * (down * across * whole + across * low + down * narrow + corner);
  const double count = batches * static_cast<double>(((m + rows - 1) / rows) * ((n + columns - 1) / columns));
  if (threads <= 1) return sum;
  if (count > 64.0 * threads) return sum / threads + whole / 2;
  // Blocks go to whoever is free, in order.
  std::vector<double> busy(static_cast<std::size_t>(threads), 0);
  for (double batch = 0; batch < batches; ++batch) {
    for (std::int64_t i = 0; i < m; i += rows) {
      for (std::int64_t j = 0; j < n; j += columns)
        *std::min_element(busy.begin(), busy.end()) += cost(std::min(rows, m - i), std::min(columns, n - j));
    }
  }
  return *std::max_element(busy.begin(), busy.end());
}

std::vector<Setting> TileValues(const Kernel& kernel, const Limits& limits) {
  const Shape3 shape(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t mr = micro.size() == 2 ? micro[0] : 8, nr = micro.size() == 2 ? micro[1] : 32;
  const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; };
  // Depth, in equal parts of K: panels of A and B come from L2 anyway, and fewer parts spare reading the result.
  const auto depth_for = [&](std::int64_t most) {
    const std::int64_t parts = std::max<std::int64_t>(1, (shape.k.extent + most - 1) / most);
    return std::max<std::int64_t>(4, up((shape.k.extent + parts - 1) / parts, 4));
  };
  const std::int64_t depth = depth_for(512);
  // Rows: A's block fills a quarter of L2 at most.
  double batches = 1;
  for (const auto& dim : shape.batch) batches *= static_cast<double>(dim.extent);
  const std::int64_t most_rows = std::max(mr, std::min(limits.l2_bytes / 4 / 4 / depth, kMostABlock / depth) / mr * mr);
  std::int64_t rows = mr, columns = nr;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = mr; r <= std::min(most_rows, up(shape.m.extent, mr)); r += mr) {
    for (std::int64_t pieces = 1; pieces <= 2 * limits.threads; ++pieces) {
      const std::int64_t c = up((shape.n.extent + pieces - 1) / pieces, nr);
      const double cost = BlockingCost(shape, batches, r, c, limits.threads);
      if (cost >= least) continue;
      rows = r;
      columns = c;
      least = cost;
    }
  }
  std::vector<Setting> values = {Tuple({rows, columns, depth})};
  const auto add = [&](std::int64_t r, std::int64_t c, std::int64_t d) {
    const Setting setting = Tuple({r, c, d});
    if (r * d <= kMostABlock && std::find(values.begin(), values.end(), setting) == values.end())
      values.push_back(setting);
  };
  add(std::max(mr, rows / 2 / mr * mr), columns, depth);
  add(rows * 2, columns, depth);
  add(rows, std::max(nr, columns / 2 / nr * nr), depth);
  add(rows, columns, depth_for(std::max<std::int64_t>(64, depth * 2)));
  add(rows, columns, depth_for(std::max<std::int64_t>(64, depth / 2)));
  return values;
}
std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 3) return "it is rows x columns x depth; try 128x1024x256";
  for (const auto part : *tuple) {
    if (part < 1) return "each part is 1 at least; try 128x1024x256";
  }
  const auto micro = TupleSetting(kernel, "micro");
  if (micro.size() == 2 && (*tuple)[0] % micro[0] != 0) {
    return fmt::format("the first must be a multiple of micro's {} rows; try {}", micro[0],
                       ((*tuple)[0] + micro[0] - 1) / micro[0] * micro[0]);
  }
  if (micro.size() == 2 && (*tuple)[1] % micro[1] != 0) {
    return fmt::format("the second must be a multiple of micro's {} columns; try {}", micro[1],
                       ((*tuple)[1] + micro[1] - 1) / micro[1] * micro[1]);
  }
  if ((*tuple)[2] % 4 != 0) return fmt::format("the third must be a multiple of 4; try {}", ((*tuple)[2] + 3) / 4 * 4);
  if ((*tuple)[0] > kMostABlock || (*tuple)[2] > kMostABlock || (*tuple)[0] * (*tuple)[2] > kMostABlock) {
    return fmt::format("rows x depth is a block of A on the stack, {} elements at most; try fewer rows", kMostABlock);
  }
  return std::nullopt;
}

// Why an operand cannot be read where it lies.
std::optional<std::string> CannotLie(const Kernel& kernel, int input) {
  const int operand = OperandOf(kernel.inputs[static_cast<std::size_t>(input)]);
  if (operand < 0) return fmt::format("{} is an expression: it has to be packed", input == 0 ? "A" : "B");
  if (input == 0) return std::nullopt;
  const Shape3 shape(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  if (shape.n.strides[static_cast<std::size_t>(operand)] != 1)
    return "B's columns are not contiguous: it has to be packed";
  if (micro.size() == 2 && shape.n.extent % micro[1] != 0) {
    return fmt::format("B's {} columns are no multiple of micro's {}: it has to be packed", shape.n.extent, micro[1]);
  }
  return std::nullopt;
}

std::vector<Setting> PackValues(const Kernel& kernel, const Limits& limits) {
  const Shape3 shape(kernel);
  const bool small = StaysUnpacked(shape, limits);
  constexpr std::string_view kLarge[] = {"both", "b", "a", "none"}, kSmall[] = {"none", "b", "both", "a"};
  std::vector<Setting> values;
  for (const std::string_view word : small ? kSmall : kLarge) {
    const bool a = word == "both" || word == "a", b = word == "both" || word == "b";
    if ((a || !CannotLie(kernel, 0)) && (b || !CannotLie(kernel, 1))) values.push_back(Word(std::string(word)));
  }
  return values;
}
std::optional<std::string> CheckPack(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"none", "a", "b", "both"})) return why;
  const std::string& word = std::get<std::string>(value.value);
  if (word != "both" && word != "a") {
    if (auto why = CannotLie(kernel, 0)) return *why + "; try " + (word == "b" ? "both" : "a");
  }
  if (word != "both" && word != "b") {
    if (auto why = CannotLie(kernel, 1)) return *why + "; try " + (word == "a" ? "both" : "b");
  }
  return std::nullopt;
}

std::vector<Setting> PrepackValues(const Kernel&, const Limits&) { return {Word("auto"), Word("no")}; }
std::optional<std::string> CheckPrepack(const Kernel&, const Setting& value) {
  return CheckWord(value, {"auto", "no"});
}

// --- Emission.

class MatmulEmitter {
 public:
  MatmulEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer), shape_(kernel) {}

  void Emit() {
    const std::string path = WordSetting(kernel_, "path");
    if (path == "dot") return EmitDot();
    if (path == "stream") return EmitStream();
    EmitTile();
  }

 private:
  std::string Element(int operand, const std::vector<std::string>& index) const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(operand)];
    const DType dtype = program_.buffers[static_cast<std::size_t>(view.buffer)].dtype;
    const std::string text =
        fmt::format("{}[{}]", writer_.BufferName(view.buffer),
                    Address(index, shape_.strides[static_cast<std::size_t>(operand)], view.offset));
    const std::string type = writer_.TypeName(ScalarOf(dtype));
    return type == CppName(dtype) ? text : fmt::format("static_cast<{}>({})", type, text);
  }
  std::string Text(const Expr& expr, const std::vector<std::string>& index, const std::string& it = "") {
    ExprWriter text(writer_,
                    [&](const ExprNode& load) { return load.buffer == kItOperand ? it : Element(load.buffer, index); });
    return text.Text(expr);
  }
  std::string Target(const std::string& i, const std::string& j) const {
    return fmt::format("{}[{}]", writer_.TargetName(), Address(shape_.Index(i, j, "0"), shape_.target, 0));
  }
  void OpenBatches() {
    for (const auto& dim : shape_.batch) writer_.Open(For(dim.var, dim.extent));
  }
  void CloseBatches() {
    for (std::size_t i = 0; i < shape_.batch.size(); ++i) writer_.Close();
  }
  int Batches() const { return static_cast<int>(shape_.batch.size()); }

  // One block of rows x columns dot products; both are small constants.
  void Dots(const std::string& i, std::int64_t rows, const std::string& j, std::int64_t columns) {
    const std::string& real = writer_.real();
    const auto sum = [](std::int64_t r, std::int64_t c) { return fmt::format("s{}{}", r, c); };
    const auto at = [](const std::string& base, std::int64_t offset) {
      return offset ? fmt::format("{} + {}", base, offset) : base;
    };
    std::vector<std::string> names, zeros;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        names.push_back(sum(r, c));
        zeros.push_back(sum(r, c) + " = 0");
      }
    }
    const bool blocked = shape_.k.extent > kDotBlock;
    std::vector<std::string> totals;
    std::string begin = "0", end = fmt::format("{}", shape_.k.extent);
    if (blocked) {
      for (const auto& name : names) totals.push_back("total_" + name);
      writer_.Line(fmt::format("double {} = 0;", fmt::join(totals, " = 0, ")));
      writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", shape_.k.extent, kDotBlock));
      writer_.Line(fmt::format("const long k_end = k0 + {} < {} ? k0 + {} : {};", kDotBlock, shape_.k.extent, kDotBlock,
                               shape_.k.extent));
      begin = "k0";
      end = "k_end";
    }
    writer_.Line(fmt::format("{} {};", real, fmt::join(zeros, ", ")));
    writer_.Line(fmt::format("#pragma omp simd reduction(+ : {})", fmt::join(names, ", ")));
    writer_.Open(fmt::format("for (long k = {}; k < {}; ++k)", begin, end));
    std::vector<std::string> as, bs;
    for (std::int64_t r = 0; r < rows; ++r) {
      as.push_back(fmt::format("a{}", r));
      writer_.Line(
          fmt::format("const {} {} = {};", real, as.back(), Text(kernel_.inputs[0], shape_.Index(at(i, r), "0", "k"))));
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      bs.push_back(fmt::format("b_{}", c));
      writer_.Line(
          fmt::format("const {} {} = {};", real, bs.back(), Text(kernel_.inputs[1], shape_.Index("0", at(j, c), "k"))));
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        writer_.Line(
            fmt::format("{} += {} * {};", sum(r, c), as[static_cast<std::size_t>(r)], bs[static_cast<std::size_t>(c)]));
      }
    }
    writer_.Close();
    if (blocked) {
      for (const auto& name : names) writer_.Line(fmt::format("total_{} += {};", name, name));
      writer_.Close();
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::string it = blocked ? fmt::format("static_cast<{}>(total_{})", real, sum(r, c)) : sum(r, c);
        const std::string value = Text(kernel_.epilogue, shape_.Index(at(i, r), at(j, c), "0"), it);
        writer_.Line(fmt::format("{} = {};", Target(at(i, r), at(j, c)), value));
      }
    }
  }

  void EmitDot() {
    // Two to four rows by up to four columns a loop: each load is used several times.
    const std::int64_t m = shape_.m.extent, n = shape_.n.extent;
    const std::int64_t rows = std::min<std::int64_t>(m, n == 1 ? 8 : 4);
    const std::int64_t columns = std::min<std::int64_t>(n, m == 1 ? 8 : 4);
    // The larger operand outside: it is read once, the smaller one again and again from cache.
    const bool n_outside = n >= m;
    const auto loop = [&](bool over_n) {
      return over_n ? fmt::format("for (long j = 0; j < {}; j += {})", n / columns * columns, columns)
                    : fmt::format("for (long i = 0; i < {}; i += {})", m / rows * rows, rows);
    };
    writer_.ParallelFor(Batches() + 2);
    OpenBatches();
    writer_.Open(loop(n_outside));
    writer_.Open(loop(!n_outside));
    Dots("i", rows, "j", columns);
    writer_.Close();
    writer_.Close();
    CloseBatches();
    // What is left over: the last rows, then the last columns of the others.
    if (m % rows) {
      writer_.Comment("The last rows.");
      writer_.ParallelFor(Batches() + 1);
      OpenBatches();
      writer_.Open(fmt::format("for (long j = 0; j < {}; ++j)", n));
      Dots(fmt::format("{}", m / rows * rows), m % rows, "j", 1);
      writer_.Close();
      CloseBatches();
    }
    if (n % columns) {
      writer_.Comment("The last columns.");
      writer_.ParallelFor(Batches() + 1);
      OpenBatches();
      writer_.Open(fmt::format("for (long i = 0; i < {}; ++i)", m / rows * rows));
      Dots("i", 1, fmt::format("{}", n / columns * columns), n % columns);
      writer_.Close();
      CloseBatches();
    }
  }

  void EmitStream() {
    const std::string& real = writer_.real();
    const std::int64_t m = shape_.m.extent, n = shape_.n.extent, k = shape_.k.extent;
    // Columns a block: accumulators of all rows in half of L1, and a piece of every row of B that is worth a prefetch.
    const std::int64_t width = std::min(n, std::max<std::int64_t>(64, std::min<std::int64_t>(512, 4096 / m / 16 * 16)));
    const std::int64_t at_a_time = m <= 4 ? 4 : m <= 8 ? 2 : 1;
    const std::int64_t flush = 256;  // rows of B between flushes into the totals
    const bool several = k > flush;
    writer_.ParallelFor(Batches() + 1);
    OpenBatches();
    writer_.Open(fmt::format("for (long j0 = 0; j0 < {}; j0 += {})", n, width));
    std::string columns = fmt::format("{}", width);
    if (n % width) {
      columns = "width";
      writer_.Line(fmt::format("const long width = {} - j0 < {} ? {} - j0 : {};", n, width, n, width));
    }
    const std::string loop = fmt::format("for (long j = 0; j < {}; ++j)", columns);
    writer_.Line(fmt::format("alignas(64) {} sum[{}][{}] = {{}};", real, m, width));
    if (several) {
      writer_.Line(fmt::format("alignas(64) double total[{}][{}] = {{}};", m, width));
      writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", k, flush));
      writer_.Line(fmt::format("const long k_end = k0 + {} < {} ? k0 + {} : {};", flush, k, flush, k));
    }
    const std::string begin = several ? "k0" : "0", end = several ? "k_end" : fmt::format("{}", k);
    const auto step = [&](std::int64_t rows) {
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t p = 0; p < rows; ++p) {
          const std::string at = p ? fmt::format("k + {}", p) : "k";
          writer_.Line(fmt::format("const {} a{}_{} = {};", real, i, p,
                                   Text(kernel_.inputs[0], shape_.Index(fmt::format("{}", i), "0", at))));
        }
      }
      writer_.Line("#pragma omp simd");
      writer_.Open(loop);
      for (std::int64_t p = 0; p < rows; ++p) {
        const std::string at = p ? fmt::format("k + {}", p) : "k";
        writer_.Line(
            fmt::format("const {} b_{} = {};", real, p, Text(kernel_.inputs[1], shape_.Index("0", "j0 + j", at))));
      }
      for (std::int64_t i = 0; i < m; ++i) {
        std::string products;
        for (std::int64_t p = 0; p < rows; ++p) products += fmt::format("{}a{}_{} * b_{}", p ? " + " : "", i, p, p);
        writer_.Line(fmt::format("sum[{}][j] += {};", i, products));
      }
      writer_.Close();
    };
    if (at_a_time > 1) {
      writer_.Open(fmt::format("for (long k = {}; k + {} <= {}; k += {})", begin, at_a_time, end, at_a_time));
      step(at_a_time);
      writer_.Close();
      writer_.Open(fmt::format("for (long k = {} - ({} - {}) % {}; k < {}; ++k)", end, end, begin, at_a_time, end));
    } else {
      writer_.Open(fmt::format("for (long k = {}; k < {}; ++k)", begin, end));
    }
    step(1);
    writer_.Close();
    if (several) {
      writer_.Open(For("i", m));
      writer_.Line("#pragma omp simd");
      writer_.Open(loop);
      writer_.Line("total[i][j] += sum[i][j];");
      writer_.Line("sum[i][j] = 0;");
      writer_.Close();
      writer_.Close();
      writer_.Close();
    }
    writer_.Open(For("i", m));
    writer_.Line("#pragma omp simd");
    writer_.Open(loop);
    const std::string it = several ? fmt::format("static_cast<{}>(total[i][j])", real) : "sum[i][j]";
    const std::string value = Text(kernel_.epilogue, shape_.Index("i", "j0 + j", "0"), it);
    writer_.Line(fmt::format("{} = {};", Target("i", "j0 + j"), value));
    writer_.Close();
    writer_.Close();
    writer_.Close();
    CloseBatches();
  }

  // --- Tiles.

  bool Varies(const Expr& expr, std::size_t batch) const {
    bool varies = false;
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad && node.buffer >= 0)
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
      parameters +=
          fmt::format("const {}* __restrict {}, ", CppName(program_.buffers[static_cast<std::size_t>(buffer)].dtype),
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
    const std::string count = fmt::format("const long columns = {} - j < {} ? {} - j : {};", n, nr_, n, nr_);
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
    return CppName(program_.buffers[static_cast<std::size_t>(buffer)].dtype) != writer_.real();
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

  void EmitTile() {
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
    const auto least = [](const std::string& name, std::int64_t whole, const std::string& from, std::int64_t most) {
      return whole % most == 0 ? fmt::format("constexpr long {} = {};", name, most)
                               : fmt::format("const long {} = {} - {} < {} ? {} - {} : {};", name, whole, from, most,
                                             whole, from, most);
    };
    writer_.Line(least("rows", m, "i0", rows));
    writer_.Line(least("columns", n, "j0", columns));
    const bool parts = depth < k;  // the sums over parts of K meet in the target
    if (pack_a_) writer_.Line(fmt::format("alignas(64) {} a_panels[{}];", real, rows * depth + kSlack));
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", k, depth));
    writer_.Line(least("depth", k, "k0", depth));
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
        if (OperandOf(kernel_.epilogue) >= 0 || kernel_.epilogue->kind != Expr::Kind::kLoad) {
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
      const std::string before = Target(row, column);
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

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  Shape3 shape_;
  std::int64_t mr_ = 8, nr_ = 32;
  bool pack_a_ = true, pack_b_ = true;
};

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  MatmulEmitter(program, kernel, writer).Emit();
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    {"threads", "how many threads share the work, 0 = all that the caller allows", MatmulThreads, CheckThreads},
    kVectorKnob,
    {"path", "tile: packed and register-blocked; dot: dot products; stream: rows of B stream by", PathValues,
     CheckPath},
    {"micro", "rows x columns of the result in registers", MicroValues, CheckMicro},
    {"tile", "rows x columns x depth of the block that a thread takes; rows x depth of A stay in L2", TileValues,
     CheckTile},
    {"pack", "which operands are copied into the order in which they are read: both, a, b, none", PackValues,
     CheckPack},
    {"prepack", "auto: B is packed once, in hone_prepare, when it is a parameter; no: on every run", PrepackValues,
     CheckPrepack},
};

}  // namespace

HONE_FAMILY(matmul){
    .name = "matmul",
    .doc = "The matrix product of A [.., M, K] and B [.., K, N]; batches broadcast, a transpose is a view.",
    .grammar = "matmul(EXPR, EXPR)",
    .variants = {},
    .operands = 2,
    .knobs = kKnobs,
    .shape = ShapeRule,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
    .emit_cpu = EmitCpu,
    .emit_cuda = EmitMatmulCuda,
    .cuda_knobs = MatmulKnobsCuda,
    .cuda_names = MatmulNamesCuda,
};

}  // namespace hone::dsl
