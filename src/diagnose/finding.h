// What a diagnosis says of a kernel: why it takes as long as it does, and what might help. A plain value; it is kept
// with the attempt in the run store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

// A setting of the kernel language that may mend it: what the expert can do by itself. It is for those kernels that
// have such a setting.
struct Move {
  std::string knob;   // "pack"; "way": the setting that chooses among the ways of a family, whatever its name
  std::string value;  // "4"; or "more" or "less" than now, the nearest first; empty: any other than now
  double part = 1;    // of what the fault costs, the most that it can bring: 0 to 1
};

struct Finding {
  std::string rule;       // that found it
  std::string evidence;   // one line, with the numbers that it follows from
  std::string advice;     // one line; empty = none
  double loss_us = 0;     // what the fault costs, estimated; 0 = not known
  std::string title;      // the rule's, in a few words
  std::string subject;    // which kernel, statement or candidate
  double lost = 0;        // the share of the subject's time that the fault costs, estimated: 0 to 1
  double confidence = 1;  // of the facts that it rests on, the least
  std::vector<Move> moves;
};

nlohmann::json ToJson(const Finding& finding);
// kCorrupt: what it lacks or has too much of; `what` is whose it is, "a finding of the run store".
Result<Finding> ParseFinding(const nlohmann::json& json, const std::string& what);

}  // namespace hone
