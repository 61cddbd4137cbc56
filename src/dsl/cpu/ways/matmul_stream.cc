// Few rows, B contiguous in N: rows of B stream by and are added into accumulators in L1.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_matmul_stream {
namespace {

constexpr std::int64_t kMostRows = 32;  // of A, all held at once

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
    writer_.ParallelFor(SharedLoops(1));
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

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const std::int64_t rows = MatmulShape(kernel).m.extent;
  if (rows <= kMostRows) return std::nullopt;
  return fmt::format("stream holds all {} rows of A at once, {} are possible", rows, kMostRows);
}
std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  if (shape.m.extent <= kFewRows && Contiguous(kernel.inputs[1], shape.n.strides)) return 1.5;
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kMatmulThreadsKnob, kVectorKnob};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  StreamEmitter(program, kernel, writer).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "stream",
    .doc = "rows of B stream by, for few rows of A",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_matmul_stream
