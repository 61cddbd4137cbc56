// Few rows or columns, both operands contiguous in K: dot products, bound by reading the larger operand once. Products
// of whole numbers are made so whatever their sizes: sums of 32 bits where those hold all of them.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_matmul_dot {
namespace {

constexpr std::int64_t kDotBlock = 4096;  // products summed before they join the total: bounds the rounding error

class DotEmitter : MatmulEmitter {
 public:
  DotEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : MatmulEmitter(program, kernel, writer), type_(SumType()) {}

  void Emit() {
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
    writer_.ParallelFor(SharedLoops(2));
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
      writer_.ParallelFor(SharedLoops(1));
      OpenBatches();
      writer_.Open(fmt::format("for (long j = 0; j < {}; ++j)", n));
      Dots(fmt::format("{}", m / rows * rows), m % rows, "j", 1);
      writer_.Close();
      CloseBatches();
    }
    if (n % columns) {
      writer_.Comment("The last columns.");
      writer_.ParallelFor(SharedLoops(1));
      OpenBatches();
      writer_.Open(fmt::format("for (long i = 0; i < {}; ++i)", m / rows * rows));
      Dots("i", 1, fmt::format("{}", n / columns * columns), n % columns);
      writer_.Close();
      CloseBatches();
    }
  }

 private:
  bool Wholes() const { return kernel_.inputs[0]->type == ScalarType::kInt; }
  std::string SumType() const {
    if (!Wholes()) return writer_.real();
    constexpr std::int64_t kMostTerms = (std::int64_t{1} << 31) / (255 * 255);
    bool bytes = shape_.k.extent <= kMostTerms;
    for (const Expr& input : kernel_.inputs) {
      const int operand = OperandOf(input);
      bytes &= operand >= 0 && Bytes(kernel_.operand_types[static_cast<std::size_t>(operand)]) == 1;
    }
    return bytes ? "int" : "long";
  }

  // One block of rows x columns dot products; both are small constants.
  void Dots(const std::string& i, std::int64_t rows, const std::string& j, std::int64_t columns) {
    const std::string& real = type_;
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
    const bool blocked = !Wholes() && shape_.k.extent > kDotBlock;
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
      writer_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2});", real, as.back(),
                               Text(kernel_.inputs[0], shape_.Index(at(i, r), "0", "k"))));
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      bs.push_back(fmt::format("b_{}", c));
      writer_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2});", real, bs.back(),
                               Text(kernel_.inputs[1], shape_.Index("0", at(j, c), "k"))));
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
        const std::string it = blocked    ? fmt::format("static_cast<{}>(total_{})", real, sum(r, c))
                               : Wholes() ? fmt::format("static_cast<long>({})", sum(r, c))
                                          : sum(r, c);
        const std::string value = Text(kernel_.epilogue, shape_.Index(at(i, r), at(j, c), "0"), it);
        writer_.Line(fmt::format("{} = {};", Target(at(i, r), at(j, c)), value));
      }
    }
  }

  const std::string type_;  // of a sum and of what is multiplied
};

std::optional<double> Cost(const Kernel& kernel) {
  if (kernel.inputs[0]->type == ScalarType::kInt) return 1;
  const MatmulShape shape(kernel);
  if (!Contiguous(kernel.inputs[0], shape.k.strides) || !Contiguous(kernel.inputs[1], shape.k.strides))
    return std::nullopt;
  const std::int64_t few = std::min(shape.m.extent, shape.n.extent);
  if (few <= kFewRows) return 1;
  if (few <= 4 * kFewRows) return 3;
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kMatmulThreadsKnob, kVectorKnob};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  DotEmitter(program, kernel, writer).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "dot",
    .doc = "dot products, for few rows or columns",
    .cost = Cost,
    .wholes = true,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_matmul_dot
