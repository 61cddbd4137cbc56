// Which changes of settings findings ask for, and what each of them promises.
//
//   finding: wave_tail in t_relu_products, may cost 52 %, moves: split more, tile less
//                                |
//   relu: split 1 -> 2   promises 52 % of relu's share of the time
//   relu: split 1 -> 4   half of that, being the second of its kind
//   relu: tile 64x64 -> 64x32   half of it as well
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "dsl/program.h"
#include "propose/learned.h"

namespace hone::expert {

// A setting of a statement and what it could be in place of what it is.
struct Alternative {
  std::size_t statement = 0;
  std::string knob;
  bool chooses = false;                // among the ways of its family
  std::optional<dsl::Setting> before;  // nothing: unset
  dsl::Setting after;
  double slower = 1;  // of a choice among ways: how many times as long it takes, as the ways say of themselves
};

// What is left of a promise where the ways say that this one takes so many times as long.
double AsLikely(double promise, const Alternative& alternative);

struct Promise {
  std::string rule;  // empty: no finding asks for it
  double share = 0;  // of the candidate's time, 0 to 1, as the finding has it
};

// What a program consists of: its statements' targets, and their shares of its time, in order.
struct Parts {
  std::vector<std::string_view> targets;
  std::vector<double> shares;
};

// How much a setting is of: a number, or a tuple's product.
std::optional<double> SizeOf(const dsl::Setting& setting);

// The statement that a finding's subject is of: a statement's target, or a kernel or function that it became. Nothing:
// the finding is of the whole candidate.
std::optional<std::size_t> StatementOf(std::string_view subject, const std::vector<std::string_view>& targets);

// One an alternative, in their order: of the findings that ask for it the one that promises most, by what its rule's
// promises were worth.
std::vector<Promise> PromisesOf(const std::vector<Finding>& findings, const std::vector<Alternative>& alternatives,
                                const Parts& parts, const Learned& learned);

}  // namespace hone::expert
