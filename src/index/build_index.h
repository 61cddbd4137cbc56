// Makes the index of a tree, or brings it up to date: what has the same content as before stays, all else is read anew.
// It is one transaction, so whoever looks sees the old index or the new one, also after a kill.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "index/tree.h"

namespace hone {

struct IndexReport {
  std::string root;            // without links
  int files = 0, symbols = 0;  // that it has now
  std::int64_t bytes = 0;      // of their texts
  int added = 0, changed = 0, removed = 0;
  PassedOver passed;
};

struct IndexSetting {
  const std::atomic<bool>* interrupted = nullptr;    // then it ends with kInterrupted, and the old index stays
  std::function<void(std::string_view)> stage = {};  // what it is at
};

// `tree` is a folder; the index at `path` is made with its folders. kUsage when the tree is none, or `path` indexes
// another one; kCorrupt when it is a file of something else; kTimeout when another process is at it.
Result<IndexReport> BuildIndex(const std::string& tree, const std::string& path, const IndexSetting& setting);

}  // namespace hone
