// The files of a tree, and no others: links are not followed, wherever they lead, folders of version control are left
// out, and what is no regular file is not opened. No state.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace hone {

inline constexpr std::size_t kLargestSource = 4u << 20;  // bytes of a file; a larger one is data
inline constexpr std::size_t kMostSources = 200'000;     // files of a tree
inline constexpr std::size_t kLongestSourcePath = 1024;  // bytes

// Files that were passed over, by why.
struct PassedOver {
  int links = 0;       // symbolic ones, also to folders
  int binary = 0;      // with a zero byte
  int large = 0;       // above kLargestSource
  int unreadable = 0;  // refused, not regular, or with a path above kLongestSourcePath
};

struct TreeFile {
  std::string path;  // from the tree's root, with /
  std::string text;
};

// Calls `take` for each file, in the order of their paths. kUsage when there are more than kMostSources; else what
// `take` fails with. `root` is a folder without links in it.
Result<void> ForEachFile(const std::string& root, PassedOver& passed,
                         const std::function<Result<void>(const TreeFile&)>& take);

}  // namespace hone
