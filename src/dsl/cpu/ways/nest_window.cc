// Short rows of what is written into an input, of which an element reads other places than it writes: a row is made
// beside, and put there when all of it is.
#include <fmt/format.h>

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
  Kernel kernel = given;
  kernel.settings["block"] = Whole(16384);
  kernel.settings["inner"] = Word("auto");
  const std::int64_t row = UpdatedRowOf(kernel);
  const std::size_t rows = kernel.space.size() - RowDimensions(kernel);
  ElementWriter element(program, kernel, writer);
  std::vector<std::string> index;
  if (rows > 0) {
    writer.ParallelFor(static_cast<int>(rows));
  } else if (writer.parallel()) {
    writer.Line("(void)threads;");
  }
  for (std::size_t d = 0; d < rows; ++d) {
    index.push_back(element.NameOf(kernel.space[d]));
    writer.Open(For(index.back(), kernel.space[d].extent));
    element.Open(kernel.space[d], index.back());
  }
  const std::string made = writer.Fresh("made"), place = writer.Fresh("place");
  writer.Line(fmt::format("{} {}[{}];", ElementType(kernel.target_type), made, row));
  element.WriteRow(made);
  const std::string first = rows == 0 ? "0" : DenseAddress(kernel, index);
  writer.Line(fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {2}[({3}) * {1} + {0}] = {4}[{0}];", place, row,
                          writer.TargetName(), first, made));
  for (std::size_t d = 0; d < rows; ++d) writer.Close();
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
