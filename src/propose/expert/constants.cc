#include "propose/expert/constants.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "expr/index_steps.h"
#include "propose/expert/hidden_keys.h"

namespace hone::expert {
namespace {

constexpr std::int64_t kTried = 1 << 17;  // places: hundredths of a second

// The elements at all places: what they are at the first, and whether at all. Nothing of what is of more than places.
struct Elements {
  std::int64_t first = 0;
  bool same = false;
};
std::optional<Elements> ElementsAt(const std::vector<IndexVar>& vars, const Expr& value) {
  std::map<int, std::size_t> ranks;
  std::int64_t count = 1;
  for (const IndexVar& var : vars) {
    ranks.emplace(var.id, ranks.size());
    count *= var.extent;
  }
  if (!IsOfIndices(value, ranks)) return std::nullopt;
  IndexSteps steps(ranks);
  const std::size_t made = steps.Add(value);
  Elements elements{.same = true};
  for (std::int64_t done = 0; done < count && elements.same; done += IndexSteps::kBatch) {
    const auto now = static_cast<std::size_t>(std::min<std::int64_t>(count - done, IndexSteps::kBatch));
    steps.Place(vars, done, now);
    steps.Run();
    elements.same &= steps.AllWhole();
    if (!elements.same) break;
    if (done == 0) elements.first = static_cast<std::int64_t>(steps.made(made)[0]);
    for (std::size_t i = 0; i < now; ++i) elements.same &= steps.made(made)[i] == static_cast<double>(elements.first);
  }
  return elements;
}

class Finder {
 public:
  explicit Finder(const Memory& memory) : memory_(memory) {}

  std::map<int, std::int64_t> Find() && {
    for (const Stage& stage : memory_.graph().stages()) {
      const ScalarType type = stage.value->type;
      const std::int64_t count = ElementCount(memory_.shape(stage.buffer));
      if (type == ScalarType::kReal || count < 1 || count > kTried || HasReduce(stage.value)) continue;
      // A step that reads the one before it: if it makes of a number that same number, all are what the first one is.
      const auto first = ElementsAt(stage.vars, With(stage, 0));
      if (!first) continue;
      const bool steps = stage.sequence >= 0 && first->first != 0;
      const auto again = steps ? ElementsAt(stage.vars, With(stage, first->first)) : first;
      if (again && again->same && again->first == first->first) known_[stage.buffer] = first->first;
    }
    return std::move(known_);
  }

 private:
  // Its value with numbers for what is known, and `own` for what it has made itself.
  Expr With(const Stage& stage, std::int64_t own) const {
    return ReplaceLoads(stage.value, [&](const ExprNode& load) -> Expr {
      if (load.buffer == stage.buffer) return Cast(own, load.type);
      if (const auto known = known_.find(load.buffer); known != known_.end()) return Cast(known->second, load.type);
      return MadeOfIndices(memory_, load).value_or(Expr());
    });
  }

  const Memory& memory_;
  std::map<int, std::int64_t> known_;
};

}  // namespace

std::map<int, std::int64_t> ConstantsOf(const Memory& memory) { return Finder(memory).Find(); }

}  // namespace hone::expert
