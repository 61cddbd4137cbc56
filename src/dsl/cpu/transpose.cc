#include "dsl/cpu/transpose.h"

#include <fmt/format.h>

#include <optional>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

constexpr Shortest kShortest{.inner = 16, .across = 16};  // a dimension shorter than a vector is not turned

// A function that turns a square of `lanes` x `lanes` elements. Interleaving the first half of the rows with the second
// moves one bit of an element's row number to its column number; as many times as there are bits, and it is turned.
void WriteTurn(Writer& writer, const std::string& name, const std::string& type, int lanes) {
  writer.BeginFunction();
  writer.Comment(
      fmt::format("to[c][r] = from[r][c] for {0} rows of {0}: as often as a row number has bits, rows of one "
                  "half are interleaved with those of the other.",
                  lanes));
  writer.Open(fmt::format("inline void {}(const {}* from, long from_step, {}* to, long to_step)", name, type, type));
  const int bytes = type == "double" ? 8 : 4;
  writer.Line(fmt::format("typedef {} Row __attribute__((vector_size({}), aligned({}), may_alias));", type,
                          lanes * bytes, bytes));
  writer.Line(fmt::format("Row row[{}], next[{}];", lanes, lanes));
  writer.Line(fmt::format("#pragma GCC unroll {}", lanes));
  writer.Line(
      fmt::format("for (int r = 0; r < {}; ++r) row[r] = *reinterpret_cast<const Row*>(from + r * from_step);", lanes));
  std::string low, high;
  for (int l = 0; l < lanes; ++l) {
    const int from = (l % 2 ? lanes : 0) + l / 2;
    low += fmt::format(", {}", from);
    high += fmt::format(", {}", from + lanes / 2);
  }
  int bits = 0;
  while (1 << bits < lanes) ++bits;
  writer.Line(fmt::format("#pragma GCC unroll {}", bits));
  writer.Open(fmt::format("for (int bit = 0; bit < {}; ++bit)", bits));
  writer.Line(fmt::format("#pragma GCC unroll {}", lanes));
  writer.Open(fmt::format("for (int r = 0; r < {}; ++r)", lanes / 2));
  writer.Line(fmt::format("next[2 * r] = __builtin_shufflevector(row[r], row[r + {}]{});", lanes / 2, low));
  writer.Line(fmt::format("next[2 * r + 1] = __builtin_shufflevector(row[r], row[r + {}]{});", lanes / 2, high));
  writer.Close();
  writer.Line(fmt::format("#pragma GCC unroll {}", lanes));
  writer.Line(fmt::format("for (int r = 0; r < {}; ++r) row[r] = next[r];", lanes));
  writer.Close();
  writer.Line(fmt::format("#pragma GCC unroll {}", lanes));
  writer.Line(fmt::format("for (int r = 0; r < {}; ++r) *reinterpret_cast<Row*>(to + r * to_step) = row[r];", lanes));
  writer.Close();
  writer.EndFunction();
}

}  // namespace

bool ReadsAcross(const Kernel& kernel) { return hone::dsl::ReadsAcross(kernel, kShortest); }

bool EmitTiledMap(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  const std::int64_t edge = IntSetting(kernel, "tile");
  const LoopText loops(program, kernel);
  const std::size_t last = loops.dims.size() - 1;
  std::vector<std::int64_t> extents;
  for (const auto& dim : loops.dims) extents.push_back(dim.extent);
  // The operands that are read across, all along the same dimension.
  std::optional<std::size_t> across;
  std::vector<int> turned;
  std::string type;
  for (std::size_t o = 0; o < kernel.operands.size(); ++o) {
    const auto along = AcrossDim(loops.Strides(static_cast<int>(o)), extents, kShortest);
    const DType dtype = program.buffers[static_cast<std::size_t>(kernel.operands[o].buffer)].dtype;
    const std::string cpp_type(ElementType(dtype));
    if (!along || (across && *across != *along) || cpp_type != writer.real() || (!type.empty() && type != cpp_type))
      continue;
    across = along;
    type = cpp_type;
    turned.push_back(static_cast<int>(o));
  }
  if (!across || edge == 0) return false;
  const std::size_t p = *across;
  const LoopDim &row = loops.dims[p], &column = loops.dims[last];
  const int lanes = static_cast<int>(IntSetting(kernel, "vector")) / (type == "double" ? 8 : 4);
  const std::string turn = "Turn_" + writer.TargetName();
  WriteTurn(writer, turn, type, lanes);

  const std::string row0 = writer.Fresh(row.var + "_0"), column0 = writer.Fresh(column.var + "_0"),
                    row_end = writer.Fresh(row.var + "_end"), column_end = writer.Fresh(column.var + "_end");
  const auto clip = [&](const std::string& end, const std::string& begin, std::int64_t extent) {
    writer.Line(extent % edge == 0 ? fmt::format("const long {} = {} + {};", end, begin, edge)
                                   : fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", end, begin, edge,
                                                 extent, begin, edge, extent));
  };
  writer.ParallelFor(static_cast<int>(loops.dims.size()));
  int open = 0;
  // The next tile stands beside this one in what is read.
  for (std::size_t d = 0; d < last; ++d, ++open) {
    if (d != p) writer.Open(For(loops.dims[d].var, loops.dims[d].extent));
  }
  writer.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", column0, column0, column.extent, column0, edge));
  writer.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", row0, row0, row.extent, row0, edge));
  clip(row_end, row0, row.extent);
  clip(column_end, column0, column.extent);
  std::vector<std::string> tiles(kernel.operands.size());
  for (const int o : turned) {
    const std::string tile = tiles[static_cast<std::size_t>(o)] = writer.Fresh("turned");
    writer.Line(fmt::format("alignas(64) {} {}[{}];", type, tile, edge * edge));
    const std::int64_t step = column.strides[static_cast<std::size_t>(o)];
    std::vector<std::string> vars = loops.Vars();
    writer.Open("");
    writer.Line(fmt::format("long {} = {};", column.var, column0));
    writer.Open(fmt::format("for (; {} + {} <= {}; {} += {})", column.var, lanes, column_end, column.var, lanes));
    writer.Line(fmt::format("long {} = {};", row.var, row0));
    writer.Open(fmt::format("for (; {0} + {1} <= {2}; {0} += {1})", row.var, lanes, row_end));
    // The next tile's lines: short rows far apart are more than the hardware foresees.
    const std::string lane = writer.Fresh("lane");
    vars[p] = fmt::format("{} + {}", row.var, edge);
    vars[last] = fmt::format("{} + {}", column.var, lane);
    writer.Line(fmt::format("{} __builtin_prefetch(&{});", For(lane, lanes), loops.Element(writer, o, vars)));
    vars = loops.Vars();
    writer.Line(fmt::format("{3}(&{4}, {5}, {6} + ({0} - {7}) * {8} + {9} - {10}, {8});", row.var, lanes, row_end, turn,
                            loops.Element(writer, o, vars), step, tile, row0, edge, column.var, column0));
    writer.Close();
    // What does not fill a square.
    writer.Open(fmt::format("for (; {} < {}; ++{})", row.var, row_end, row.var));
    vars[last] = fmt::format("{} + {}", column.var, lane);
    writer.Line(fmt::format("{} {}[({} - {}) * {} + {} - {} + {}] = {};", For(lane, lanes), tile, row.var, row0, edge,
                            column.var, column0, lane, loops.Element(writer, o, vars)));
    writer.Close();
    writer.Close();
    vars[last] = column.var;
    writer.Open(fmt::format("for (; {} < {}; ++{})", column.var, column_end, column.var));
    writer.Line(fmt::format("for (long {0} = {1}; {0} < {2}; ++{0}) {3}[({0} - {1}) * {4} + {5} - {6}] = {7};", row.var,
                            row0, row_end, tile, edge, column.var, column0, loops.Element(writer, o, vars)));
    writer.Close();
    writer.Close();
  }
  writer.Open(fmt::format("for (long {0} = {1}; {0} < {2}; ++{0})", row.var, row0, row_end));
  writer.Line("#pragma omp simd");
  const std::string& at = column.var;
  writer.Open(fmt::format("for (long {0} = {1}; {0} < {2}; ++{0})", at, column0, column_end));
  std::vector<std::string> vars = loops.Vars();
  vars[last] = at;
  ExprWriter expr(writer, [&](const ExprNode& load) {
    const std::string& tile = tiles[static_cast<std::size_t>(load.buffer)];
    return tile.empty() ? loops.Element(writer, load.buffer, vars)
                        : fmt::format("{}[({} - {}) * {} + {} - {}]", tile, row.var, row0, edge, at, column0);
  });
  const std::vector<int> targets = ElementTargetsOf(kernel);
  const std::vector<std::string> values = expr.Texts(ElementsOf(kernel));
  for (std::size_t i = 0; i < targets.size(); ++i)
    writer.Line(fmt::format("{} = {};", loops.MadeElement(writer, targets[i], vars), values[i]));
  for (int n = 0; n < open + 3; ++n) writer.Close();
  return true;
}

}  // namespace hone::dsl
