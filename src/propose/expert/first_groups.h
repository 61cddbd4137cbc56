// What comes first of the elements of a product, found without them all: a row's columns are folded in groups as they
// are multiplied, and only what lies in its first groups is multiplied again and put in order.
//
//   scores = matmul(q, d)                              best = matmul_reduce max(q, d) by {group: 64}
//   places = order descending(scores) over [1]   -->   near = order descending(best) over [1] by {count: 10}
//     by {count: 10}                                   candidates = nest [i, j < 10, l < 64] (sum [k] (q * d, looked
//     up))
//                                                      places = order descending(candidates) over [1] by {count: 10}
//
// Each of the first ten elements lies in one of the ten groups whose largest are the first ten: a group that is none of
// those has ten elements of others before its own.
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/kernel.h"
#include "dsl/program.h"

namespace hone::expert {

inline constexpr std::int64_t kGroupsOfColumns[] = {64, 32, 16, 8};

// The program with such groups of so many columns wherever elements of a product are put in order and read by nobody
// else; nothing where there are none, or groups would leave most of the elements. `kernels`: what the checker made of
// it.
std::optional<dsl::Program> WithFirstGroups(const dsl::Program& program, const dsl::KernelProgram& kernels,
                                            std::int64_t group);

}  // namespace hone::expert
