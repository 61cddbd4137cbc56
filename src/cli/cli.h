// The command line as a surface of the verbs: arguments in, text or one JSON document out, an exit code. Only this
// folder writes to standard output.
#pragma once

#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "command/command.h"

namespace hone {

// Progress and notes on a stream (standard error). On a terminal a progress line is redrawn in place and cut to the
// width; elsewhere each is a line of its own. A stage that takes longer than a second is shown before the progress line
// with its seconds, elsewhere as a line of its own every few seconds. Clears its line when it goes.
class Terminal : public Listener {
 public:
  explicit Terminal(std::FILE* stream);
  ~Terminal() override;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  void Progress(std::string_view line) override;
  void Note(std::string_view line) override;
  bool live() const override { return live_; }
  void Clear();  // the stage's end, too

 private:
  using Clock = std::chrono::steady_clock;
  void ShowStage(std::string_view what) override;
  void Draw() HONE_NEEDS(mutex_);                   // the live line: stage and progress
  void Erase() HONE_NEEDS(mutex_);                  // what stands on the terminal
  void Tick(Clock::time_point) HONE_NEEDS(mutex_);  // shows the stage if it is time to

  std::FILE* const stream_;
  bool live_;

  Mutex mutex_;
  std::string progress_ HONE_GUARDED_BY(mutex_);  // the last line that was given
  std::string stage_ HONE_GUARDED_BY(mutex_);     // empty: none
  Clock::time_point stage_begun_ HONE_GUARDED_BY(mutex_);
  Clock::time_point stage_shown_ HONE_GUARDED_BY(mutex_);
  bool drawn_ HONE_GUARDED_BY(mutex_) = false;  // a line stands on the terminal
  bool closing_ HONE_GUARDED_BY(mutex_) = false;
  Condition wake_;
  std::thread ticker_;  // from the first stage on
};

// Runs `hone ARGUMENTS...` on this process's standard output and error, and gives the exit code. While a verb runs,
// descriptor 1 leads to standard error, so that neither a library nor a child can spoil the document.
int RunCommandLine(std::span<const std::string> arguments);

}  // namespace hone
