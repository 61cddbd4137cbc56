// The process that runs the candidates of one problem for their profiles (worker/profiled.h), kept from one to the
// next: getting it ready (a context, inputs, CUPTI) takes several times what a candidate then takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "protocol/profiled.h"

namespace hone {

class ProfiledProcess {
 public:
  struct Options {
    std::string program;  // that has the verb "profiled"
    std::string device;   // UUID of the CUDA device that it sees; empty: those that we see
    // Foreign code runs in it: it is held by bubblewrap, without a network, and sees of our files those of these
    // folders alone, read-only. Else nothing of a candidate runs on the host, and the process is held by its device
    // context and the wall.
    bool confined = false;
    std::vector<std::string> seen;
  };
  // Nothing starts yet.
  ProfiledProcess(ProfiledSetup setup, Options options);
  ~ProfiledProcess();
  ProfiledProcess(const ProfiledProcess&) = delete;
  ProfiledProcess& operator=(const ProfiledProcess&) = delete;

  // Starts the process where none runs; kNotFound where it cannot be confined and has to be. kTool, with its last
  // words, when it says that it failed, ended, or took longer than `wall`: the next question then gets another one.
  // kCorrupt: it answered something else. Not thread-safe.
  Result<ProfiledReport> Ask(const ProfiledQuestion& question, std::chrono::milliseconds wall);

  int starts() const { return starts_; }  // of processes, so far

 private:
  Result<void> Start();
  Error Lost(const Error& how);
  ProfiledSetup setup_;
  Options options_;
  std::optional<Child> child_;
  int log_ = -1;  // what it complains of
  int starts_ = 0;
};

}  // namespace hone
