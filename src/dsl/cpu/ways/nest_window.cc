// Short rows of what is written into an input, of which an element reads other places than it writes: rows are made
// beside, a few at a time, and put there when all of them are.
#include <fmt/format.h>

#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_rows.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_nest_window {
namespace {

std::vector<Setting> WindowThreadsValues(const Kernel& kernel) {
  constexpr double kFew = 20e3;  // elements, as for other nests: what threads are worth
  return SpaceCount(kernel) < kFew ? std::vector{Whole(1), Whole(0)} : std::vector{Whole(0), Whole(1)};
}

constexpr Knob kKnobs[] = {{"threads", kThreadsKnob.doc, WindowThreadsValues, CheckThreads}};

void Emit(const KernelProgram& program, const Kernel& given, Writer& writer) {
  constexpr std::int64_t kBlock = 2048;  // elements of the rows that are made before they are put there
  Kernel kernel = given;
  kernel.settings["block"] = Whole(16384);
  kernel.settings["inner"] = Word("auto");
  const std::int64_t row = UpdatedRowOf(kernel), at_a_time = kBlock / row;
  const std::size_t dims = kernel.space.size() - RowDimensions(kernel);
  ElementWriter element(program, kernel, writer);
  const std::string made = writer.Fresh("made"), to = writer.Fresh("to"), place = writer.Fresh("place"),
                    count = writer.Fresh("count");
  std::vector<std::string> index;
  if (dims > 0) {
    writer.ParallelFor(static_cast<int>(dims));
  } else if (writer.parallel()) {
    writer.Line("(void)threads;");
  }
  std::string first = "0";  // of a block of rows, along the last dimension that has several
  for (std::size_t d = 0; d < dims; ++d) {
    const IndexVar& along = kernel.space[d];
    index.push_back(element.NameOf(along));
    if (d + 1 < dims) {
      writer.Open(For(index.back(), along.extent));
      element.Open(along, index.back());
      continue;
    }
    first = writer.Fresh(index.back() + "0");
    writer.Open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2})", first, along.extent, at_a_time));
    writer.Line(Left(count, along.extent, first, at_a_time));
  }
  writer.Line(fmt::format("{} {}[{}];", ElementType(kernel.target_type), made, dims == 0 ? row : at_a_time * row));
  if (dims > 0) {
    writer.Open(fmt::format("for (long {0} = {1}; {0} < {1} + {2}; ++{0})", index.back(), first, count));
    element.Open(kernel.space[dims - 1], index.back());
    writer.Line(fmt::format("{}* const {} = {} + ({} - {}) * {};", ElementType(kernel.target_type), to, made,
                            index.back(), first, row));
  }
  element.WriteRow(dims == 0 ? made : to);
  if (dims > 0) {
    writer.Close();
    index.back() = first;
  }
  const std::string begin = dims == 0 ? "0" : DenseAddress(kernel, index);
  writer.Line(fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {2}[({3}) * {4} + {0}] = {5}[{0}];", place,
                          dims == 0 ? fmt::format("{}", row) : fmt::format("{} * {}", count, row), writer.TargetName(),
                          begin, row, made));
  for (std::size_t d = 0; d < dims; ++d) writer.Close();
}

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "window",
    .doc = "short rows of what is written into an input, each read whole before it is written",
    .why_not = WhyNoUpdatedRows,
    .reads_rows = true,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_nest_window
