// A thread a row of what is written into an input: of a window that moves on, say, each element reads another place
// than it writes. The thread has all of its row before it writes any of it, packs side by side.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/element.h"
#include "dsl/shape/updated_rows.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_window {
namespace {

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

// Rows, and what stands at each place of one.
struct Window {
  FlatElement element;             // its indices are those of rows
  std::vector<IndexVar> places;    // of a row
  std::int64_t row = 1, pack = 1;  // elements of a row, and of those that are read and written as one
};

Window WindowOf(const Kernel& kernel) {
  constexpr std::int64_t kPackBytes = 16;
  Window window{.element = {}, .places = {}, .row = UpdatedRowOf(kernel)};
  std::set<int> ids;
  std::copy(kernel.space.end() - static_cast<std::ptrdiff_t>(RowDimensions(kernel)), kernel.space.end(),
            std::back_inserter(window.places));
  for (const IndexVar& place : window.places) ids.insert(place.id);
  window.element = MakeFlat(kernel, ids);
  const auto bytes = static_cast<std::int64_t>(Bytes(kernel.target_type));
  while (window.row % (2 * window.pack) == 0 && 2 * window.pack * bytes <= kPackBytes) window.pack *= 2;
  return window;
}

// Where in its row something is that is read of it; null where that follows from more than the place that is made.
Expr PlaceInRow(const Window& window, const Kernel& kernel, const ExprNode& load) {
  if (kernel.operands[static_cast<std::size_t>(load.buffer)].buffer != kernel.target) return {};
  const auto is_one = [](const std::vector<IndexVar>& of, int id) {
    return std::ranges::find(of, id, &IndexVar::id) != of.end();
  };
  const LinearForm form = LinearOf(load.operands[0]);
  Expr place = form.sum.constant;
  for (const auto& [id, step] : form.sum.coefficient) {
    if (is_one(window.element.indices, id)) continue;  // the row
    const auto own = std::ranges::find(window.places, id, &IndexVar::id);
    if (own == window.places.end()) return {};
    place = place + Expr(*own) * Expr(step);
  }
  for (const auto& [rest, step] : form.rest) {
    bool own = !HasLoad(rest) && !HasReduce(rest);
    for (const int id : FreeIndices(rest)) own &= is_one(window.places, id);
    if (!own) return {};
    place = place + rest * Expr(step);
  }
  return place;
}

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const Window window = WindowOf(kernel);
  const std::int64_t rows = PointsOf(window.element.indices), threads = IntSetting(kernel, "block"),
                     packs = window.row / window.pack;
  if (rows == 0) return;
  out.BeginKernel("window", threads);
  const std::string at = out.OpenThreads("row", rows);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, window.element.indices, at, names);
  const std::string type = PackType(out, DeviceType(kernel.target_type), window.pack), own = out.Fresh("own"),
                    before = out.Fresh("before"), made = out.Fresh("made"), n = out.Fresh("n"), e = out.Fresh("e");
  out.Line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3} * {4});", type, own,
                       out.BufferName(kernel.target), at, window.row));
  out.Line(fmt::format("{} {}[{}], {}[{}];", type, before, packs, made, packs));
  const auto each = [&](const std::string& to, const std::string& from) {
    out.Unroll();
    out.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3}[{0}];", n, packs, to, from));
  };
  each(before, own);
  out.Unroll();
  out.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, window.row));
  std::map<int, std::string> there = names;
  NamePlaces(out, kernel, window.places, e, there);
  WriteElement(out, kernel, window.element, there,
               {.to = fmt::format("{}[{} / {}].at[{} % {}]", made, e, window.pack, e, window.pack),
                .read = [&](const ExprNode& load) -> std::string {
                  const Expr place = PlaceInRow(window, kernel, load);
                  if (!place) return "";
                  const std::string text = ValueText(out, kernel, place, there);
                  return fmt::format("{0}[({1}) / {2}].at[({1}) % {2}]", before, text, window.pack);
                }});
  out.Close();
  each(own, made);
  LaunchNest(out, kernel, rows, threads);
}

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "window",
    .doc = "a thread a short row of what is written into an input, of which it reads other places than it writes",
    .why_not = WhyNoUpdatedRows,
    .reads_rows = true,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_nest_window
