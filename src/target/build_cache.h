// Shared objects and cubins by the hash of all that they were made from.
//
//   builds/ab/abcd....built  the shared object or cubin; absent when the source did not compile
//   builds/ab/abcd....log    "hone build N\n", N = bytes of the built file or 0, then what the compiler said
//   builds/build/XXXXXX/     a build in progress
//   builds/locks/abc         held while an entry whose key begins so is built: of two who want the same one, the second
//                            waits
//   builds/usage             bytes in all; its lock guards eviction
//
// The log is renamed into place after the built file: an entry is there when its log is, and one whose file is not as
// long as the log says (a power cut) is none. Any number of threads and processes may share one folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

struct CacheEntry {
  std::string file;  // path, or empty: it is known not to compile
  std::string log;
};

// An advisory lock on a file, held until destruction or the end of the process.
class FileLock {
 public:
  static Result<FileLock> Acquire(const std::string& path);                    // waits; creates the file
  static Result<FileLock> AcquireShared(const std::string& path);              // likewise: several may have it so
  static Result<std::optional<FileLock>> TryAcquire(const std::string& path);  // nothing if somebody else has it
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();
  int descriptor() const { return descriptor_; }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  static Result<FileLock> Lock(const std::string& path, int operation);
  int descriptor_;
};

class BuildCache {
 public:
  // In CacheDirectory(). At most HONE_CACHE_MAX bytes (suffix K, M or G; 2 GiB when unset) are kept; beyond that the
  // least recently used entries go, except those used in the last minute: someone may be about to load them.
  static Result<BuildCache> Open();

  std::optional<CacheEntry> Find(std::string_view key) const;  // and marks it as used
  Result<FileLock> Lock(std::string_view key) const;
  // A new empty folder to build in, on the cache's own file system.
  Result<std::string> MakeBuildFolder() const;
  // Moves `built` (empty: the source does not compile) into the cache. A failure to make room is not a failure to
  // keep.
  Result<CacheEntry> Keep(std::string_view key, const std::string& built, std::string log) const;

  // The same for a built file that is in memory; empty: the source does not compile.
  Result<CacheEntry> KeepBytes(std::string_view key, std::string_view built, std::string log) const;

  const std::string& folder() const { return folder_; }

 private:
  BuildCache(std::string folder, std::int64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  std::string EntryPath(std::string_view key, std::string_view suffix) const;
  void Account(std::int64_t added) const;
  std::int64_t Evict() const;
  std::string folder_;
  std::int64_t limit_;
};

}  // namespace hone
