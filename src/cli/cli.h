// The command line as a surface of the verbs: arguments in, text or one JSON document out, an exit code. Only this
// folder writes to standard output.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "command/command.h"

namespace hone {

// Progress and notes on a stream (standard error). On a terminal a progress line is redrawn in place and cut to the
// width; elsewhere each is a line of its own. Clears its line when it goes.
class Terminal : public Listener {
 public:
  explicit Terminal(std::FILE* stream);
  ~Terminal() override { Clear(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  void Progress(std::string_view line) override;
  void Note(std::string_view line) override;
  bool live() const override { return live_; }
  void Clear();

 private:
  std::FILE* stream_;
  bool live_;
  bool drawn_ = false;  // a progress line stands on the terminal
};

// Runs `hone ARGUMENTS...` on this process's standard output and error, and gives the exit code. While a verb runs,
// descriptor 1 leads to standard error, so that neither a library nor a child can spoil the document.
int RunCommandLine(std::span<const std::string> arguments);

}  // namespace hone
