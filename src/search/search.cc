#include "search/search.h"

namespace hone {

Result<Chosen<StrategyRow>> ChooseStrategy(std::string_view words) {
  return Choose("search strategy", AllStrategies(), words);
}

}  // namespace hone
