// What makes a result less than it looks, called by its name and with the figures: in the last lines of `hone optimize`
// and `hone show`. What is refused is named here as well as what is only worth knowing; docs/evaluation.md lists the
// names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "target/bound.h"
#include "verdict/verdict.h"

namespace hone {

struct JudgedAttempt {
  int number = 0;
  const Evaluation* evaluation = nullptr;
};

struct Caught {
  std::string_view name;  // "faster-than-bound", "work-left-out", "below-contract", "suspicious", "degenerate"
  std::string sentence;
};

// Of a run: all of its attempts, the winner (number 0 = none), the bound of its problem on its machine (us == 0 = not
// known) and the problem's flags as a document (command/flags.h).
std::vector<Caught> CallByName(const std::vector<JudgedAttempt>& attempts, const JudgedAttempt& best,
                               const Bound& bound, const nlohmann::json& flags);

std::string CaughtText(const std::vector<Caught>& caught, std::string_view indent);  // a line each
nlohmann::json ToDocument(const std::vector<Caught>& caught);                        // an array: name, sentence

}  // namespace hone
