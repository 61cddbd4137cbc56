// A thread an element that is written: what else there is in an input that is written into stays as it is, and is not
// read.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/element.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_places.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_places {
namespace {

// Neighbours along the innermost index that a thread reads and writes as one.
std::int64_t MostNeighbours(const Kernel& kernel) {
  const auto places = UpdatedPlacesOf(kernel);
  if (!places || places->element.indices.empty()) return 1;
  const IndexVar& along = places->element.indices.back();
  if (places->condition && UsesIndex(places->condition, along.id)) return 1;
  const Expr written = Load(0, {places->address}, places->element.value->type);
  return std::gcd(NeighboursOf(places->kernel, places->element, places->element.value),
                  NeighboursOf(places->kernel, places->element, written));
}

std::vector<Setting> NeighboursValues(const Kernel& kernel) {
  const std::int64_t most = MostNeighbours(kernel);
  return most == 1 ? std::vector{Whole(1)} : std::vector{Whole(most), Whole(1)};
}

std::optional<std::string> CheckNeighbours(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 16)) return why;
  const std::int64_t most = MostNeighbours(kernel);
  return most % std::get<std::int64_t>(value.value) == 0
             ? std::nullopt
             : std::optional(fmt::format("elements lie in packs of {} here; try {}", most, most));
}

constexpr Knob kKnobs[] = {
    kBlockThreadsKnob,
    {"pack", "neighbours along the innermost index that a thread reads and writes as one", NeighboursValues,
     CheckNeighbours},
};

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const UpdatedPlaces places = *UpdatedPlacesOf(kernel);
  const std::int64_t pack = IntSetting(kernel, "pack"), threads = IntSetting(kernel, "block");
  std::vector<IndexVar> indices = places.element.indices;
  if (pack > 1) indices.back().extent /= pack;
  const std::int64_t count = PointsOf(indices);
  if (count == 0) return;
  out.BeginKernel("places", threads);
  const std::string at = out.OpenThreads("at", count);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, indices, at, names);
  if (pack > 1) {
    const int along = indices.back().id;
    const std::string first = out.Fresh("first");
    out.Line(fmt::format("const {} {} = {} * {};", out.index_type(), first, names.at(along), pack));
    names[along] = first;
  }
  if (places.condition) out.Open(fmt::format("if ({})", ValueText(out, places.kernel, places.condition, names)));
  const std::string to = out.Fresh("to");
  out.Line(fmt::format("{}* {} = {} + ({});", DeviceType(kernel.target_type), to, out.BufferName(kernel.target),
                       ValueText(out, places.kernel, places.address, names)));
  if (pack == 1) {
    WriteElement(out, places.kernel, places.element, names, {.to = "*" + to});
  } else {
    const IndexVar& along = places.element.indices.back();
    PackedLoads packs(places.kernel, along, pack);
    packs.Write(out, places.element.value, names);
    const std::string type = PackType(out, DeviceType(kernel.target_type), pack), all = out.Fresh("all"),
                      e = out.Fresh("e"), place = out.Fresh("place");
    out.Line(fmt::format("{} {};", type, all));
    out.Unroll();
    out.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack));
    out.Line(fmt::format("const {} {} = {} + {};", out.index_type(), place, names.at(along.id), e));
    std::map<int, std::string> there = names;
    there[along.id] = place;
    WriteElement(out, places.kernel, places.element, there,
                 {.to = fmt::format("{}.at[{}]", all, e), .packs = &packs, .neighbour = e});
    out.Close();
    out.Line(fmt::format("*reinterpret_cast<{}*>({}) = {};", type, to, all));
  }
  if (places.condition) out.Close();
  LaunchNest(out, kernel, count, threads);
}

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "places",
    .doc = "a thread an element that is written, of what is written into an input",
    .why_not = WhyNoUpdatedPlaces,
    .cost = [](const Kernel&) -> std::optional<double> { return 0.5; },
    .bytes_beside = BytesLeftAlone,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_nest_places
