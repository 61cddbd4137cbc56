#include "dsl/cpu/nest.h"
#include "dsl/element.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_nest_elements {
namespace {

bool HasFolds(const Kernel& kernel) { return !OuterFolds(kernel.epilogue, {}).empty(); }

std::vector<Setting> NestThreadsValues(const Kernel& kernel) {
  const bool small =
      SpaceCount(kernel) + kernel.family->flops(kernel) / 8 < 20e3;  // as for other families: what threads are worth
  std::vector<Setting> values =
      small ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (kernel.device->threads >= 4) values.push_back(Whole(kernel.device->threads / 2));
  return values;
}

std::vector<Setting> BlockValues(const Kernel& kernel) {
  if (!HasFolds(kernel)) return {Whole(16384), Whole(4096)};
  return {Whole(64), Whole(32), Whole(128), Whole(256)};
}
std::optional<std::string> CheckBlock(const Kernel&, const Setting& value) {
  return CheckRange(value, 8, std::int64_t{1} << 20);
}

std::vector<Setting> InnerValues(const Kernel& kernel) {
  if (!HasFolds(kernel)) return {Word("auto")};
  return {Word("auto"), Word("result"), Word("fold")};
}
std::optional<std::string> CheckInner(const Kernel&, const Setting& value) {
  return CheckWord(value, {"auto", "result", "fold"});
}

constexpr Knob kKnobs[] = {
    {"threads", kThreadsKnob.doc, NestThreadsValues, CheckThreads},
    kVectorKnob,
    {"block", "elements of the innermost index that are taken at a time", BlockValues, CheckBlock},
    {"inner", "result: a block of results side by side grows with the folds; fold: one result after the other; auto",
     InnerValues, CheckInner},
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "elements",
    .doc = "each element as it is written",
    .knobs = kKnobs,
    .emit_cpu = EmitNest,
};

}  // namespace hone::dsl::cpu_way_nest_elements
