// The process that runs the candidates of one problem for their profiles (worker/profiled.h), kept from one to the
// next: getting it ready (a context, inputs, CUPTI) takes several times what a candidate then takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/process.h"
#include "base/result.h"
#include "protocol/profiled.h"

namespace hone {

class ProfiledProcess {
 public:
  // `program` has the verb "profiled", `device` is the UUID of the CUDA device that it sees, empty for those that we
  // see. Nothing starts yet.
  ProfiledProcess(ProfiledSetup setup, std::string program, std::string device);
  ~ProfiledProcess();
  ProfiledProcess(const ProfiledProcess&) = delete;
  ProfiledProcess& operator=(const ProfiledProcess&) = delete;

  // Starts the process where none runs. kTool, with its last words, when it says that it failed, ended, or took longer
  // than `wall`: the next question then gets another one. kCorrupt: it answered something else. Not thread-safe.
  Result<ProfiledReport> Ask(const ProfiledQuestion& question, std::chrono::milliseconds wall);

  int starts() const { return starts_; }  // of processes, so far

 private:
  Result<void> Start();
  Error Lost(const Error& how);
  ProfiledSetup setup_;
  std::string program_, device_;
  std::optional<Child> child_;
  int log_ = -1;  // what it complains of
  int starts_ = 0;
};

}  // namespace hone
