// Flags (analysis/analysis.h) as documents, and in the run store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace hone {

// An array: kind, sentence, reason, and those of output, inputs, value, within, flops_written and flops_needed that the
// kind has.
nlohmann::json ToDocument(const std::vector<Flag>& flags);

// Of a run: its flags as the store has them, the text of such an array, or empty if it was made before there were any.
nlohmann::json FlagsOfRun(const std::string& text);
// The kinds in a flags document: "zero, collapsible"; "" for none.
std::string FlagNames(const nlohmann::json& flags);

}  // namespace hone
