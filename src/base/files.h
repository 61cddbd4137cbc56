// Files: whole-file reads, writes that survive a crash, and where hone keeps things. No state; safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

// All of it. kNotFound if there is no such file, kIo otherwise ("cannot read p.json: is a directory").
Result<std::string> ReadFile(const std::string& path);

// Readers see the old content or the new, never a part, also after a power cut: a temporary file beside it, fsync,
// rename. Creates missing directories. Two writers at once: one of them wins whole.
Result<void> WriteFileAtomically(const std::string& path, std::string_view content);

// Fails as WriteFileAtomically would now, and leaves nothing behind: before minutes of work that end in that file.
Result<void> CheckWritable(const std::string& path);

// Writes all of it to a descriptor that waits; false with errno where it cannot.
bool WriteAll(int descriptor, std::string_view content);

// Makes it and the ones above it; fine if it is there.
Result<void> MakeDirectories(const std::string& path);

// What can be made again (builds), what cannot (runs, calibrations), and what the user writes: $XDG_CACHE_HOME/hone,
// $XDG_DATA_HOME/hone and $XDG_CONFIG_HOME/hone, else ~/.cache/hone, ~/.local/share/hone and ~/.config/hone.
// HONE_CACHE, HONE_DATA and HONE_CONFIG override them (tests do). They may not exist yet.
std::string CacheDirectory();
std::string DataDirectory();
std::string ConfigDirectory();

// A fresh directory that only this user may enter, in $TMPDIR or /tmp; the destructor removes it with all that is in
// it.
class TempDirectory {
 public:
  static Result<TempDirectory> Create(std::string_view hint);  // the hint becomes part of its name
  TempDirectory(TempDirectory&& other) noexcept;
  TempDirectory& operator=(TempDirectory&& other) noexcept;
  ~TempDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TempDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved from
};

}  // namespace hone
