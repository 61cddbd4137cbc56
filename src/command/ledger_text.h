// What calls of language models cost, as documents and as tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/ledger.h"

namespace hone {

// calls, input_tokens, cached_tokens, output_tokens, estimated_tokens (of calls of which nobody said), dollars,
// unpriced (calls whose dollars nobody knows), seconds.
nlohmann::json ToDocument(const Spending& spending);
nlohmann::json ToDocument(const LedgerLine& line);

// Sums by role and model; empty where there are no lines.
std::string LedgerTable(const std::vector<LedgerLine>& lines);

}  // namespace hone
