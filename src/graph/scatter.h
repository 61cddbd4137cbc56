// Writing to places that an index names, told from the side of what is written: each element of the result asks which
// of the sources come to it. Of several the last one counts where they overwrite.
#pragma once

#include <initializer_list>
#include <string_view>

#include "graph/op.h"

namespace hone {

enum class Scattering { kOverwrite, kAdd, kMultiply, kLargest, kSmallest, kMean };

// The argument `reduce`, one of those that the operator takes.
Scattering ReadReduce(OpCall& call, std::initializer_list<std::string_view> takes);

// self with self[..., index[i, j, ...] at dim, ...] combined with source[i, j, ...] for all places of index. `source`
// gives what is written at a place of index. With `include_self` false, elements that are written to do not count
// themselves.
void DefineScatter(OpCall& call, Scattering how, const ElementFunction& source, bool include_self = true);

// Likewise self with source and the slices along dim that the vector index names.
void DefineIndexScatter(OpCall& call, Scattering how, const std::function<Expr(Indices source_at)>& source,
                        bool include_self = true);

// self[indices] and the places of self that it reads: advanced indexing with a list that has gaps.
struct AdvancedIndex {
  Shape shape;  // of self[indices]
  // The place in self of an element of self[indices].
  std::function<std::vector<Expr>(Indices at)> place;
};
std::optional<AdvancedIndex> ReadAdvancedIndex(OpCall& call, const Operand& self);
void DefineIndexPut(OpCall& call);

}  // namespace hone
