// Nests that fold terms by keys, as scatters do (expr/keyed_fold.h): the terms are listed by their keys first, and each
// element folds those of its own list.
#pragma once

#include <optional>

#include "dsl/element.h"
#include "expr/keyed_fold.h"

namespace hone::dsl {

// The nest's element and the one fold in it, which is by keys; nothing if it is another nest.
struct ListedNest {
  FlatElement element;  // the fold's value is kIt
  KeyedFold fold;
};
std::optional<ListedNest> ListedFold(const Kernel& kernel);
// Whether lists are less work than all elements' looks at all terms.
bool ListsPay(const Kernel& kernel);

}  // namespace hone::dsl
