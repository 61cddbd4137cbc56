// For whole rows in order, however long: two kernels, see dsl/cuda/ranks.h.
#include <fmt/format.h>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/order.h"
#include "dsl/cuda/ranks.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_order_chunks {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Ordering order(kernel);
  if (order.rows * order.along.extent >= kMostRanked) return "there are too many elements to be sorted";
  return std::nullopt;
}

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const Ordering order(kernel);
  std::vector<IndexVar> elements = order.others;
  elements.push_back(order.along);
  WriteRanks(out, kernel,
             {.along = order.along,
              .elements = elements,
              .descending = order.descending,
              .value = [&](const auto& names) { return OrderedText(out, kernel, names); },
              .value_reads = BuffersOf(kernel, kernel.inputs[0]),
              .end =
                  [&](std::map<int, std::string> names, const std::string& place) {
                    const std::string index = names.at(order.along.id);
                    const std::string element = kernel.also.empty() ? "" : OrderedText(out, kernel, names);
                    if (order.place.extent < order.along.extent)
                      out.Line(fmt::format("if ({} >= {}) return;", place, order.place.extent));
                    names.erase(order.along.id);
                    names[order.place.id] = place;
                    WriteOrdered(out, kernel, names, fmt::format("static_cast<long>({})", index), element);
                  },
              .end_reads = ReadsOfOrdered(kernel, true)},
             IntSetting(kernel, "block"));
}

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

}  // namespace

HONE_ROW(Way){
    .family = "order",
    .name = "chunks",
    .doc = "rows are sorted in chunks, in which each element looks for its place",
    .why_not = WhyNot,
    .cost = [](const Kernel&) { return std::optional<double>(4); },
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_order_chunks
