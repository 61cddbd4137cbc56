// Who works on a run. The lock is the kernel's (an open file description lock on one byte of `<store>-lock`), so that
// it goes with its holder however that ends: after kill -9 the run is free at once and no stale mark is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace hone {

// Held as long as it lives. Movable.
class RunLock {
 public:
  // Nothing when somebody holds it. `sequence` is the run's row number.
  static Result<std::optional<RunLock>> Try(const std::string& store_path, std::int64_t sequence);

  // Whether somebody holds it, without taking it even for a moment.
  static Result<bool> Held(const std::string& store_path, std::int64_t sequence);

  RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;  // -1: a store in memory, that nobody else sees, or moved from
};

}  // namespace hone
