// Each element begins with what is added to; each term is added to the element that its key says, in order, so that
// sums are the same to the bit whatever the threads. Likewise the largest and the smallest of whole numbers.
#include "dsl/cpu/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_nest_adds {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence")) return "it is a step of a sequence";
  return WhyNotAdded(kernel);
}

// A look at a term costs about what adding it does: nothing is gained where elements are few.
std::optional<double> Cost(const Kernel& kernel) {
  constexpr std::int64_t kFew = 4;
  const auto nest = KeyedNestOf(kernel);
  return nest && nest->fold.index.extent > kFew ? 0.5 : 2;
}

double Adds(const KeyedNest& nest) {
  return static_cast<double>(PointsOf(nest.fold.others)) * static_cast<double>(PointsOf(nest.fold.over)) *
         static_cast<double>(PointsOf(Beside(nest)));
}

std::vector<Setting> AddThreads(const Kernel& kernel) {
  constexpr double kLikeOperations = 8;  // a term that goes anywhere
  const auto nest = KeyedNestOf(kernel);
  return ThreadsFor(kernel, nest ? kLikeOperations * Adds(*nest) : 0);
}

// Each range goes through all keys, which costs little where rows are added.
std::vector<Setting> RangesValues(const Kernel& kernel) {
  constexpr std::int64_t kRow = 8, kRanges = 16;
  const auto nest = KeyedNestOf(kernel);
  const bool fills = !nest || PointsOf(nest->fold.others) >= kernel.device->threads;
  const bool pays = !fills && IntSetting(kernel, "threads") != 1 && PointsOf(Beside(*nest)) >= kRow &&
                    nest->fold.index.extent >= kRanges;
  return pays ? std::vector<Setting>{Whole(kRanges), Whole(1)} : std::vector<Setting>{Whole(1), Whole(kRanges)};
}
std::optional<std::string> CheckRanges(const Kernel&, const Setting& value) { return CheckRange(value, 1, 1024); }

constexpr Knob kKnobs[] = {
    {"threads", kThreadsKnob.doc, AddThreads, CheckThreads},
    kVectorKnob,
    {"ranges", "into how many ranges of the key the result is shared out, each of which goes through all terms",
     RangesValues, CheckRanges},
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "adds",
    .doc =
        "for sums of terms that go where a key says, and extremes of whole numbers: each is added to its element, in "
        "order",
    .why_not = WhyNot,
    .cost = Cost,
    .looks = LooksByKeys,
    .knobs = kKnobs,
    .emit_cpu =
        [](const KernelProgram& program, const Kernel& kernel, Writer& writer) {
          if (PointsOf(kernel.space) > 0)
            ElementWriter(program, kernel, writer).WriteAdds(IntSetting(kernel, "ranges"));
          else if (writer.parallel())
            writer.Line("(void)threads;");
        },
};

}  // namespace hone::dsl::cpu_way_nest_adds
