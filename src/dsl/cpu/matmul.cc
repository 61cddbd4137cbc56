#include "dsl/cpu/matmul.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/index_text.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/loops.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kDotBlock = 4096;  // products summed before they join the total: bounds the rounding error

class DotEmitter : MatmulEmitter {
 public:
  using MatmulEmitter::MatmulEmitter;

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

 private:
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
};

class StreamEmitter : MatmulEmitter {
 public:
  using MatmulEmitter::MatmulEmitter;

  void Emit() {
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
      writer_.Line(Left("width", n, "j0", width));
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
};

}  // namespace

void EmitMatmul(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  const std::string path = WordSetting(kernel, "path");
  if (path == "dot") return DotEmitter(program, kernel, writer).Emit();
  if (path == "stream") return StreamEmitter(program, kernel, writer).Emit();
  EmitMatmulTile(program, kernel, writer);
}

}  // namespace hone::dsl
