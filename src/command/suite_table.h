// What came of a suite, as a document, as Markdown for people and as CSV.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "search/suite.h"

namespace hone {

// One problem, read from what `hone optimize --json` said of it last.
struct SuiteRow {
  std::string name, group, run, kind;
  int attempts = 0, helpings = 0;
  double seconds = 0;
  double best_us = 0, bound_us = 0;        // 0 = none
  std::map<std::string, double> speedups;  // over each baseline that there is a ratio to
  std::vector<std::string> baselines;      // in the order of the comparison
  double honest = 0;                       // over the fastest of all baselines; 0 = not known
  bool faster = false;                     // than the first baseline, confirmed
  std::optional<bool> allclose;            // the official tolerance; nothing where it was not compared by that
  std::map<std::string, int> kernels;      // of the best program: how many statements of a family; empty for others
  std::vector<std::string> flags;          // kinds
  std::string failure;                     // why it has no result; empty: it has one
  std::string no_ratio;                    // why a ratio of it is not known, or not confirmed

  bool solved() const { return failure.empty() && best_us > 0; }
};

// `stop`: why the suite ended.
SuiteRow RowOf(const Standing& standing, std::string_view stop);

// Geometric means and counts of the solved rows of a group over one baseline.
struct SuiteMean {
  double geomean = 0;
  int problems = 0, slower = 0;  // timed beside it; slower than it
};
struct SuiteGroup {
  std::string name;
  int problems = 0, solved = 0;
  std::map<std::string, SuiteMean> over;
};
inline constexpr const char* kFastestBaseline = "the fastest";
// Without those whose products are less accurate than PyTorch's default asks for; where such were timed.
inline constexpr const char* kFastestAsAccurate = "the fastest as accurate";
// One a group in the order of the rows, then "all" if there are several; flagged problems are not in them but in a last
// one, "flagged".
std::vector<SuiteGroup> GroupsOf(const std::vector<SuiteRow>& rows);

// How many statements of a program are of each family; empty for what is none.
std::map<std::string, int> KernelsOf(const std::string& source);

nlohmann::json SuiteDocument(const std::vector<SuiteRow>& rows);  // groups[], rows[]
std::string SuiteMarkdown(const std::vector<SuiteRow>& rows);
std::string SuiteCsv(const std::vector<SuiteRow>& rows);

}  // namespace hone
