// Tools of a user's own: any executable in a folder is given the profiles as one JSON document on its standard input
// and answers with findings as one on its standard output (docs/tools.md). It runs confined, under a wall, and whatever
// it does wrong is said and costs nobody else anything.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/diagnose.h"

namespace hone {

struct ToolAnswer {
  std::string tool;  // the file's name
  std::vector<Finding> findings;
  std::string wrong;  // what went wrong, in a line; then there are no findings
};

struct ToolSettings {
  std::chrono::milliseconds wall{10'000};  // of each tool
};

// One answer a tool, by name. Subjects of findings are those of the profiles; a finding's rule is "tool:NAME". Fails
// with kUsage where the folder is none or holds nothing that can be executed, and as Run does.
Result<std::vector<ToolAnswer>> AskTools(const std::string& folder, std::span<const Subject> subjects,
                                         const ToolSettings& settings = {});

// Findings of an answer's text, for AskTools and for tests; kCorrupt says what is wrong with it.
Result<std::vector<Finding>> ParseToolAnswer(const std::string& tool, const std::string& text,
                                             std::span<const Subject> subjects);

}  // namespace hone
