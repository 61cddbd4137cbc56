// Child processes: run one to its end under a wall, or keep one and talk to it. Every child leads a process group of
// its own, so that a kill takes its children along. Thread-safe: no shared state.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hone {

// What a child gets. Nothing of our environment is handed on but what `environment` names.
struct Command {
  std::vector<std::string> argv;                 // argv[0] is looked up in our PATH
  std::vector<std::string> environment;          // "NAME=value" lines; see InheritedEnvironment
  std::string directory;                         // empty = ours
  std::string input;                             // written to its standard input, which is then closed
  std::chrono::milliseconds wall{60'000};        // then SIGKILL to the group
  std::uint64_t address_space_bytes = 0;         // RLIMIT_AS, 0 = none
  int most_processes = 0;                        // of it and all below it, 0 = any number: see ProcessLimit
  std::size_t max_output_bytes = 16u << 20;      // per stream; the rest is read and dropped
  std::vector<std::pair<int, int>> descriptors;  // {ours, theirs}: handed on beside 0, 1, 2
  const std::atomic<bool>* interrupt = nullptr;  // ends it as a wish to stop does (base/interrupt.h); for Run
};

struct Exit {
  int code = 0;    // exit status when signal == 0
  int signal = 0;  // the signal that ended it, or 0
  bool timed_out = false;
  int too_many = 0;    // so many processes it may have had, and had more
  std::string output;  // standard output
  std::string error;   // standard error
  bool ok() const { return code == 0 && signal == 0 && !timed_out && too_many == 0; }
  std::string Describe() const;  // "exited with status 3", "was killed by SIGSEGV", "ran past 60 s"
};

// PATH, HOME, LANG, TMPDIR and the like: what a compiler or an interpreter needs, and no keys.
std::vector<std::string> InheritedEnvironment();

// The folders that a variable like PATH lists, as it has them.
std::vector<std::string> FoldersOf(const char* variable);

// The program that this process runs: "/usr/bin/hone"; "hone" where nobody says.
std::string OwnPath();

// Where `name` is in our PATH, or nothing. A name with a slash is taken as it is.
std::optional<std::string> FindProgram(std::string_view name);

// Runs it to its end; a bad end is in Exit. Fails if it cannot be started, or with kInterrupted (base/interrupt.h).
Result<Exit> Run(const Command& command);

// The processes below `root`: its children, theirs, and so on. None where /proc does not say.
std::vector<pid_t> Descendants(pid_t root);

// The processor time of all threads of a process, or 0 if there is no such process or the system does not say.
std::uint64_t ProcessorNanoseconds(pid_t pid);

// Kills `root`, the leader of a process group, with all below it once they are more than `most`. RLIMIT_NPROC is the
// kernel's own limit, but it does not hold for root; looking does. The root is reaped after this is gone.
class ProcessLimit {
 public:
  ProcessLimit(pid_t root, int most);
  bool exceeded() const { return exceeded_; }

 private:
  std::atomic<bool> exceeded_ = false;
  std::jthread watch_;
};

// Processes that end without us, and are waited for: each has given back what it held of a device once it is gone.
class AllBelow {
 public:
  explicit AllBelow(pid_t root);  // those below it now
  AllBelow(const AllBelow&) = delete;
  AllBelow& operator=(const AllBelow&) = delete;
  ~AllBelow();
  // Kills them. False if one is still there after `most`.
  bool End(std::chrono::milliseconds most);

 private:
  std::vector<int> descriptors_;  // that stand for them
};

// A child that we keep: we write to its standard input and read its standard output; its standard error is ours unless
// `error_descriptor` is given. Movable; the destructor kills the group and reaps.
class Child {
 public:
  static Result<Child> Start(const Command& command, int error_descriptor = 2);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  int input() const { return input_; }    // write end, -1 once closed
  int output() const { return output_; }  // read end
  void CloseInput();

  // One line of its output without the newline. kTimeout after `wall`; kTool with how it ended when the child is gone.
  Result<std::string> ReadLine(std::chrono::milliseconds wall);
  Result<void> WriteLine(std::string_view line);

  bool Running();                                            // reaps when it has ended
  std::optional<Exit> Wait(std::chrono::milliseconds wall);  // nothing if it still runs then
  void Signal(int signal);                                   // to the group
  Exit Kill();                                               // SIGKILL to the group, then reap

 private:
  Child() = default;
  void Release();
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int input_ = -1;
  int output_ = -1;
  bool reaped_ = false;
  Exit exit_;
  int most_processes_ = 0;
  std::unique_ptr<ProcessLimit> limit_;  // null: none, or it has ended
  std::string pending_;                  // read, not yet handed out
};

}  // namespace hone
