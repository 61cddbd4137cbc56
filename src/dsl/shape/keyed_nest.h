// Nests that fold terms by keys, as scatters do (expr/keyed_fold.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/element.h"
#include "expr/keyed_fold.h"

namespace hone::dsl {

// The nest's element and the one fold in it, which is by keys; nothing if it is another nest.
struct KeyedNest {
  FlatElement element;  // the fold's value is kIt
  KeyedFold fold;
};
std::optional<KeyedNest> KeyedNestOf(const Kernel& kernel);

// The indices of the result that say neither which fold a term is of nor where its key is.
std::vector<IndexVar> Beside(const KeyedNest& nest);

// Why a nest's terms cannot be added one by one to what its elements begin with, or nothing.
std::optional<std::string> WhyNotAdded(const Kernel& kernel);
// What a sum is added to, of a nest of which they can: "base + it".
Expr BaseOf(const KeyedNest& nest);

// How many elements look at all terms where each term goes to where its key says (Way::looks): of the indices but the
// one that the key is.
double LooksByKeys(const Kernel& kernel);
// Whether single terms are added, in two kernels, sooner than elements have looked at them all.
bool AddsPay(const Kernel& kernel);
// Whether lists are less work than all elements' looks at all terms.
bool ListsPay(const Kernel& kernel);

}  // namespace hone::dsl
