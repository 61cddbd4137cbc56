// Brings memory that another process has written into the caches of the cores that a candidate computes on, without
// running any of its code: inputs of a timed call are new, and a call from warm caches has to find them there. One
// thread a core beside the caller's, asleep otherwise. Made before there is a candidate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace hone {

class CacheReaders {
 public:
  // The first `cores` cores that this process may use, which is where OpenMP's threads are bound (worker_process.cc);
  // where there are fewer, the caller's alone.
  explicit CacheReaders(int cores);
  CacheReaders(const CacheReaders&) = delete;
  CacheReaders& operator=(const CacheReaders&) = delete;
  ~CacheReaders();

  void Read(std::span<const std::span<const std::byte>> memories);  // returns when all have read all of them

 private:
  void ReadAll() const;
  void Serve();

  std::span<const std::span<const std::byte>> memories_;
  std::atomic<std::uint32_t> turn_ = 0, reading_ = 0;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> others_;
};

}  // namespace hone
