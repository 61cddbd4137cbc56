// What is written of an input that is written into: what else there is in it stays as it is, and is not read.
#include "dsl/cpu/nest_element.h"
#include "dsl/element.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_places.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_nest_places {
namespace {

std::vector<Setting> PlacesThreadsValues(const Kernel& kernel) {
  constexpr std::int64_t kFew = 20'000;  // elements, as for other nests: what threads are worth
  const auto places = UpdatedPlacesOf(kernel);
  const bool small = places && PointsOf(places->element.indices) < kFew;
  return small ? std::vector{Whole(1), Whole(0)} : std::vector{Whole(0), Whole(1)};
}

constexpr Knob kKnobs[] = {{"threads", kThreadsKnob.doc, PlacesThreadsValues, CheckThreads}};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  UpdatedPlaces places = *UpdatedPlacesOf(kernel);
  if (PointsOf(places.element.indices) == 0) {
    if (writer.parallel()) writer.Line("(void)threads;");
    return;
  }
  places.kernel.settings["block"] = Whole(16384);
  places.kernel.settings["inner"] = Word("auto");
  ElementWriter(program, places.kernel, writer).WritePlaces(Share::kWake, places);
}

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "places",
    .doc = "what is written into an input alone, of which the rest stays",
    .why_not = WhyNoUpdatedPlaces,
    .cost = [](const Kernel&) -> std::optional<double> { return 0.5; },
    .bytes_beside = BytesLeftAlone,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_nest_places
