// What is kept of a comparison beside the run store, so that others can look on while it grows and see it later: its
// document without the single searches, written anew as these are done. The same command writes over it.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "command/seen_files.h"
#include "store/run_lock.h"

namespace hone {

// Of a comparison that is at work, for as long as it lives. Not thread-safe.
class KeptComparison {
 public:
  // `command`: as it was typed, by which it is told from others. `searches`: so many there will be. kUsage: the same is
  // at work already.
  static Result<KeptComparison> Begin(const std::string& store, const std::string& command, std::size_t searches);

  void Searched(std::size_t count) { done_ += count; }  // more searches are done
  bool Due() const;                                     // it was not written for a second, or all of them are done
  // What they came to.
  Result<void> Write(nlohmann::json document);

 private:
  KeptComparison(std::string file, RunLock lock, std::size_t searches);
  std::string file_;
  RunLock lock_;
  std::size_t searches_ = 0, done_ = 0;
  std::int64_t begun_ms_ = 0;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

// Of the store. Their states are running, done and interrupted.
SeenFolder ComparisonsOf(const std::string& store);

}  // namespace hone
