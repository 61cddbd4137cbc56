#include "search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/text.h"

namespace hone {

Result<const StrategyRow*> FindStrategy(std::string_view name) {
  std::vector<std::string_view> known;
  for (const StrategyRow* row : AllStrategies()) {
    if (row->name == name) return row;
    known.push_back(row->name);
  }
  return Fail(ErrorKind::kUsage, fmt::format("there is no search strategy '{}'{}; known are {}", name,
                                             DidYouMean(name, known), fmt::join(known, ", ")));
}

}  // namespace hone
