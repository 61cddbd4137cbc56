// A verb in a process of its own: what it does wrong stays there, and it can be ended at any time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "command/command.h"

namespace hone {

// Where verbs run, and as whose.
struct VerbSetting {
  std::string program;                   // hone
  std::vector<std::string> environment;  // "NAME=value" lines
};

// This program, and all of this process's environment; `store`, unless empty, is what HONE_STORE says.
VerbSetting OwnSetting(const std::string& store);

struct VerbWatch {
  std::function<void(std::string_view line)> line;  // each line that it says on its way
  std::function<bool()> cancelled;
};

// How it ended. With code 130 it was cancelled, or ended by somebody else's signal.
struct VerbEnd {
  int code = 0;
  std::string document;    // JSON: its answer, or {"error": ...}; empty if it died before
  std::string message;     // why there is no answer; empty where there is
  bool not_found = false;  // that is because something that was named is not there
  bool answered() const { return code == 0 || code == 1; }
};

// Runs `hone VERB ARGUMENTS --json` in the current folder. From when it is cancelled it has 10 s for its own end, then
// it is killed with all below it. Blocks; safe from several threads at once. Fails where it cannot be started.
Result<VerbEnd> RunVerb(const VerbSetting& setting, const Verb& verb, const std::vector<std::string>& arguments,
                        const VerbWatch& watch);

}  // namespace hone
