#include "dsl/cpu/fold_knobs.h"

#include <algorithm>

#include "dsl/cpu/loop_text.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

// The kernel's nest without the program, for knobs: merging is the same for every program that holds the kernel.
struct NestShape {
  bool rows = true;
  double kept = 1, reduced = 1;
  std::int64_t inner = 1;
};

NestShape ShapeOf(const Kernel& kernel) {
  static const KernelProgram kNone;
  const LoopText loops(kNone, kernel);
  NestShape shape;
  shape.rows = loops.dims.back().reduced;
  shape.inner = loops.dims.back().extent;
  shape.kept = static_cast<double>(loops.Count(false));
  shape.reduced = static_cast<double>(loops.Count(true));
  return shape;
}

}  // namespace

std::vector<Setting> AccumulatorsValues(const Kernel& kernel) {
  // Several exps side by side leave no registers for their coefficients; one after the other they overlap anyway.
  const auto fetch = kernel.settings.find("prefetch");
  if (kernel.settings.contains("passes") && fetch != kernel.settings.end() && fetch->second != Word("no"))
    return {Whole(1), Whole(4), Whole(2)};
  return {Whole(4), Whole(2), Whole(8), Whole(1)};
}
std::optional<std::string> CheckAccumulators(const Kernel&, const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (whole && (*whole == 1 || *whole == 2 || *whole == 4 || *whole == 8)) return std::nullopt;
  return "it is 1, 2, 4 or 8; try 4";
}

std::vector<Setting> ColumnsValues(const Kernel& kernel) {
  const NestShape shape = ShapeOf(kernel);
  if (shape.rows) return {Whole(256)};
  // Wide enough that a row's piece is some cache lines; narrow enough that there is a block for every thread and, where
  // later passes read the block again, that it stays in the second-level cache.
  const double outer = shape.kept / static_cast<double>(std::max<std::int64_t>(1, shape.inner));
  std::vector<Setting> values;
  for (const std::int64_t width : {512, 256, 128, 64, 32, 16}) {
    const double blocks = outer * static_cast<double>((shape.inner + width - 1) / width);
    const bool enough = blocks >= 2.0 * kernel.device->threads || shape.reduced > 64;
    const bool fits = !kernel.family->keeps_axes || static_cast<double>(width) * shape.reduced * 4 <=
                                                        static_cast<double>(kernel.device->l2_bytes) / 2;
    if (enough && fits) values.push_back(Whole(width));
    if (values.size() == 4) break;
  }
  if (values.empty()) values.push_back(Whole(64));
  if (kernel.family->keeps_axes && shape.inner > 256 && std::get<std::int64_t>(values[0].value) < 256) {
    // Pieces of far rows come slowly (every one from a page of its own), so narrow blocks lose more than staying in the
    // cache gains them.
    values.clear();
    for (const std::int64_t width : {1024, 2048, 512}) {
      if (width < 2 * shape.inner) values.push_back(Whole(width));
    }
    values.push_back(Whole(64));
  }
  return values;
}
std::optional<std::string> CheckColumns(const Kernel&, const Setting& value) { return CheckRange(value, 1, 8192); }

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const NestShape shape = ShapeOf(kernel);
  double units = shape.kept;
  if (!shape.rows) {
    const auto set = kernel.settings.find("columns");
    const auto* width = set == kernel.settings.end() ? nullptr : std::get_if<std::int64_t>(&set->second.value);
    const std::int64_t columns = std::max<std::int64_t>(1, width ? *width : 256);
    units = shape.kept / static_cast<double>(shape.inner) * static_cast<double>((shape.inner + columns - 1) / columns);
  }
  // A chunk should be worth waking a thread for.
  const double largest = shape.kept * shape.reduced / 16384;
  std::vector<Setting> values;
  if (units < 2.0 * kernel.device->threads && kernel.device->threads > 1) {
    // One chunk a thread where it comes back to its rows, from the last to the first.
    const double few = 1.0 * kernel.device->threads, more = 4.0 * kernel.device->threads;
    const bool comes_back = !shape.rows && kernel.family->keeps_axes;
    for (const double wanted : {comes_back ? few : more, comes_back ? more : few, 16.0 * kernel.device->threads}) {
      const auto split = static_cast<std::int64_t>(std::min(wanted / std::max(1.0, units) + 0.999, largest));
      if (split > 1 && static_cast<double>(split) <= shape.reduced) values.push_back(Whole(split));
    }
  }
  // A row that outgrows its core's cache, and is read again, fits when the cores share it.
  const double row_bytes = shape.reduced * 4;
  if (values.empty() && shape.rows && kernel.family->keeps_axes && kernel.device->threads > 1 &&
      row_bytes > static_cast<double>(kernel.device->l2_bytes) / 4) {
    values.push_back(Whole(kernel.device->threads));
    values.push_back(Whole(2 * kernel.device->threads));
  }
  values.push_back(Whole(1));
  return values;
}

std::vector<Setting> FoldPrefetchValues(const Kernel& kernel) {
  const NestShape shape = ShapeOf(kernel);
  if (!shape.rows || shape.kept * shape.reduced * 4 <= static_cast<double>(kernel.device->l2_bytes))
    return {Word("no")};
  // A row that stays in a cache is read from memory by the first pass only, which does little else; the next row can
  // come during the later ones, which have arithmetic to do. Passes that go by blocks fetch the next block.
  const double row = shape.reduced * 4;
  const auto passes = kernel.settings.find("passes");
  const bool by_blocks = passes == kernel.settings.end() ? row > 2 * kNearRow : passes->second != Word("three");
  if (by_blocks) return {Word("ahead"), Word("no"), Word("row")};
  if (row * 4 <= static_cast<double>(kernel.device->l2_bytes)) return {Word("row"), Word("no"), Word("ahead")};
  return {Word("no"), Word("ahead")};
}
std::optional<std::string> CheckFoldPrefetch(const Kernel&, const Setting& value) {
  return CheckWord(value, {"no", "row", "ahead"});
}

std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1,
                    std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(1e6, ShapeOf(kernel).reduced))));
}

}  // namespace hone::dsl
