// Maps are memory-bound as a rule, so the knobs are about how memory is met: streaming stores save reading the output's
// lines before they are written, and blocks give threads equal shares when the outer loops are short.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/transpose.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_places.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_map {
namespace {

constexpr std::int64_t kStreamBlock = 1024;  // elements that are computed in L1 before they are streamed out
constexpr std::int64_t kFetchBlock = 64;     // elements whose lines are asked for at once
// Fewer outer iterations than this are not shared out as they are: threads would wait for each other.
constexpr std::int64_t kFewOuter = 64;

std::vector<Setting> StreamValues(const Kernel& kernel) {
  // An output that outgrows the second-level cache may not be read from there by whoever comes next. Whether streaming
  // is faster depends on the processor (on Sapphire Rapids one core writes faster through its caches): it is for
  // trying, not a default.
  const double bytes = SpaceCount(kernel) * 4;
  return bytes > static_cast<double>(kernel.device->l2_bytes) ? std::vector<Setting>{Word("no"), Word("yes")}
                                                              : std::vector<Setting>{Word("no")};
}
std::optional<std::string> CheckStream(const Kernel&, const Setting& value) { return CheckWord(value, {"no", "yes"}); }

std::vector<Setting> PrefetchValues(const Kernel& kernel) {
  // While a loop is busy with arithmetic its loads and stores do not run far enough ahead to keep memory busy. What
  // fits into the caches has no such trouble.
  if (SpaceCount(kernel) * 4 <= static_cast<double>(kernel.device->l2_bytes)) return {Whole(0)};
  double operations = 0;
  for (const auto& element : ElementsOf(kernel)) operations += OperationsPerElement(element);
  if (operations < 16) return {Whole(0), Whole(2048)};
  return {Whole(2048), Whole(0), Whole(1024)};
}
std::optional<std::string> CheckPrefetch(const Kernel&, const Setting& value) { return CheckRange(value, 0, 65536); }

std::vector<Setting> BlockValues(const Kernel& kernel) {
  // Several blocks a thread even out what the machine does beside us; a block of the inner loop of 4 to 64 KiB hides
  // the loop's cost.
  const double share = SpaceCount(kernel) / (4.0 * kernel.device->threads);
  std::vector<Setting> values;
  for (const std::int64_t block : {std::int64_t{16384}, std::int64_t{4096}, std::int64_t{65536}}) {
    if (static_cast<double>(block) <= share || values.empty()) values.push_back(Whole(block));
  }
  return values;
}
std::optional<std::string> CheckBlock(const Kernel&, const Setting& value) {
  return CheckRange(value, 16, std::int64_t{1} << 40);
}

std::vector<Setting> TileValues(const Kernel& kernel) {
  if (!ReadsAcross(kernel)) return {Whole(0)};
  return {Whole(64), Whole(32), Whole(16), Whole(0)};
}
std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value) {
  const auto* edge = std::get_if<std::int64_t>(&value.value);
  if (edge && *edge == 0) return std::nullopt;
  if (!edge || *edge % 16 != 0 || *edge < 16 || *edge > 128) return "it is 0 or a multiple of 16 up to 128; try 64";
  if (!ReadsAcross(kernel)) return "nothing is read across here; try 0";
  return std::nullopt;
}

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  if (EmitTiledMap(program, kernel, writer)) return;
  const LoopText loops(program, kernel);
  const bool stream = WordSetting(kernel, "stream") == "yes";
  const std::int64_t fetch = IntSetting(kernel, "prefetch");
  std::int64_t block = IntSetting(kernel, "block");
  const std::size_t inner = loops.dims.size() - 1;
  const LoopDim& last = loops.dims[inner];
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < inner; ++d) outer *= loops.dims[d].extent;
  if (stream) block = std::max<std::int64_t>(kStreamBlock, block / kStreamBlock * kStreamBlock);
  const bool blocked = writer.parallel() && outer < kFewOuter && last.extent > block;

  int collapse = static_cast<int>(inner) + (blocked ? 1 : 0);
  if (collapse == 0 && !writer.parallel()) collapse = 1;
  if (collapse > 0) writer.ParallelFor(collapse);
  for (std::size_t d = 0; d < inner; ++d) writer.Open(For(loops.dims[d].var, loops.dims[d].extent));
  std::string begin = "0", end = fmt::format("{}", last.extent);
  if (blocked) {
    const std::string start = last.var + "0";
    writer.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", start, start, last.extent, start, block));
    begin = start;
    end = writer.Fresh(last.var + "_end");
    if (last.extent % block == 0) {
      writer.Line(fmt::format("const long {} = {} + {};", end, start, block));
    } else {
      writer.Line(fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", end, start, block, last.extent, start,
                              block, last.extent));
    }
  }
  const std::vector<int> targets = ElementTargetsOf(kernel);
  // Into the tensors, or parts of them that are arrays.
  const auto body = [&](const std::vector<std::string>& parts, const std::string& index, const std::string& in_part) {
    std::vector<std::string> vars = loops.Vars();
    vars[inner] = index;
    ExprWriter expr(writer, [&](const ExprNode& load) { return loops.Element(writer, load.buffer, vars); });
    std::vector<std::string> values = expr.Texts(ElementsOf(kernel));
    for (std::size_t i = 0; ReadsWhatItReplaces(kernel) && i < targets.size(); ++i) {
      const DType type = program.buffers[static_cast<std::size_t>(targets[i])].dtype;
      const std::string value = writer.Fresh("value");
      writer.Line(fmt::format("const {} {} = {};", ElementType(type), value, values[i]));
      values[i] = value;
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::string to =
          parts.empty() ? loops.MadeElement(writer, targets[i], vars) : fmt::format("{}[{}]", parts[i], in_part);
      writer.Line(fmt::format("{} = {};", to, values[i]));
    }
  };
  if (stream) {
    const std::string from = writer.Fresh("from"), count = writer.Fresh("count"), at = writer.Fresh("at");
    const auto type = [&](int target) { return ElementType(program.buffers[static_cast<std::size_t>(target)].dtype); };
    writer.Open(fmt::format("for (long {} = {}; {} < {}; {} += {})", from, begin, from, end, from, kStreamBlock));
    writer.Line(Left(count, end, from, kStreamBlock));
    std::vector<std::string> parts;
    for (const int target : targets) {
      parts.push_back(writer.Fresh("part"));
      writer.Line(fmt::format("alignas(64) {} {}[{}];", type(target), parts.back(), kStreamBlock));
    }
    writer.Line("#pragma omp simd");
    writer.Open(fmt::format("for (long {} = 0; {} < {}; ++{})", at, at, count, at));
    body(parts, fmt::format("{} + {}", from, at), at);
    writer.Close();
    std::vector<std::string> vars = loops.Vars();
    vars[inner] = from;
    for (std::size_t i = 0; i < targets.size(); ++i)
      writer.Line(fmt::format("{}(&{}, {}, {} * static_cast<long>(sizeof({})));", writer.Helper("Stream"),
                              loops.MadeElement(writer, targets[i], vars), parts[i], count, type(targets[i])));
    writer.Close();
  } else if (fetch && last.extent >= 4 * kFetchBlock && (blocked || inner > 0 || !writer.parallel())) {
    const auto bytes = static_cast<std::int64_t>(Bytes(program.buffers[static_cast<std::size_t>(kernel.target)].dtype));
    const bool even = last.extent % kFetchBlock == 0 && (!blocked || block % kFetchBlock == 0);
    const std::string at = writer.Fresh("at");
    writer.Open(fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", last.var, begin, last.var, kFetchBlock, end,
                            last.var, kFetchBlock));
    std::vector<std::string> ahead = loops.Vars();
    ahead[inner] = fmt::format("{} + {}", last.var, fetch / bytes);
    loops.FetchOperands(writer, ahead, kFetchBlock);
    loops.FetchTarget(writer, ahead, kFetchBlock);
    writer.Line("#pragma omp simd");
    writer.Open(For(at, kFetchBlock));
    body({}, fmt::format("{} + {}", last.var, at), "");
    writer.Close();
    writer.Close();
    if (!even) {
      writer.Line("#pragma omp simd");
      const std::string rest = blocked ? fmt::format("({} - {}) % {}", end, begin, kFetchBlock)
                                       : fmt::format("{}", last.extent % kFetchBlock);
      writer.Open(fmt::format("for (long {} = {} - {}; {} < {}; ++{})", last.var, end, rest, last.var, end, last.var));
      body({}, last.var, "");
      writer.Close();
    }
  } else {
    if (writer.parallel() && collapse == 0) {
      writer.Line(fmt::format("#pragma omp parallel for simd num_threads({}) schedule(static)", writer.ThreadsText()));
    } else {
      writer.Line("#pragma omp simd");
    }
    writer.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", last.var, begin, last.var, end, last.var));
    body({}, last.var, "");
    writer.Close();
  }
  if (blocked) writer.Close();
  for (std::size_t d = 0; d < inner; ++d) writer.Close();
}

constexpr Knob kKnobs[] = {
    kThreadsKnob,
    kVectorKnob,
    {"prefetch", "bytes from what is computed to what is asked for from memory meanwhile, read and written; 0 = none",
     PrefetchValues, CheckPrefetch},
    {"stream", "yes: write past the caches (for outputs much larger than they are)", StreamValues, CheckStream},
    {"block", "elements of the inner loop that one thread takes at a time, where the outer loops are short",
     BlockValues, CheckBlock},
    {"tile", "edge of the squares in which what is read across is turned; 0 = element by element", TileValues,
     CheckTile},
};

}  // namespace

HONE_ROW(Way){
    .family = "map",
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_map
