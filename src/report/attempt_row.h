// An attempt as one flat row, for the page, for spreadsheets and for programs. Times are microseconds where they are of
// kernels, milliseconds where they are of stages or since 1970 in UTC.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "store/records.h"
#include "verdict/verdict.h"

namespace hone {

// The columns of docs/report.md that are known of it: what is not has no field.
nlohmann::json AttemptRow(const AttemptRecord& attempt, const Evaluation& evaluation);

// One line an attempt, with a head: RFC 4180, all columns. A text that a spreadsheet would take for a formula has an
// apostrophe before it.
std::string AttemptsCsv(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations);

// One JSON object a line: the row, and findings.
std::string AttemptsJsonl(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations);

}  // namespace hone
