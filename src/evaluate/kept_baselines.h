// The times of baselines, in a file, so that PyTorch is not started and compiled anew for each search over a problem.
// The file's name has to stand for all that they depend on: problem, device, driver, PyTorch.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "verdict/verdict.h"

namespace hone {

// Not thread-safe; of several processes that write one file the last keeps what it knows and what it finds there.
class KeptBaselines {
 public:
  // An empty path: what is kept lives as long as this. `about` is written into the file for people, one line of JSON. A
  // file that cannot be read is taken for none.
  KeptBaselines(std::string path, std::string about);

  const KnownBaseline* Find(const std::string& name) const;  // null if it is not known
  // Measured today, which is written into `times`. The one with more samples stays, of two that have as many the later
  // one.
  Result<void> Keep(const std::string& name, KnownBaseline times);

 private:
  void Read();
  std::string path_, about_;
  std::map<std::string, KnownBaseline> known_;
};

}  // namespace hone
