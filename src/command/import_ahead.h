// Imports a suite's problems before their turn: starting PyTorch takes longer than many a helping, and one processor is
// enough for it while a device is measured. Only so many ahead, in the order of the list.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "search/suite.h"

namespace hone {

class ImportAhead {
 public:
  // `import` is called from a thread of its own, for one problem at a time; what is wrong with one is said in its turn.
  // The problems outlive this.
  ImportAhead(const std::vector<SuiteProblem>& problems, std::size_t ahead,
              std::function<void(const SuiteProblem&)> import);
  // Waits for the import in work.
  ~ImportAhead();
  ImportAhead(const ImportAhead&) = delete;
  ImportAhead& operator=(const ImportAhead&) = delete;

  // The problem's turn has come: waits for its import if that is in work; if it has not begun, it is the caller's.
  void Begin(const SuiteProblem& problem);

 private:
  void Work();

  const std::size_t ahead_;
  const std::function<void(const SuiteProblem&)> import_;
  Mutex mutex_;
  Condition changed_;
  std::deque<const SuiteProblem*> next_ HONE_GUARDED_BY(mutex_);
  const SuiteProblem* in_work_ HONE_GUARDED_BY(mutex_) = nullptr;
  std::set<std::string> ready_ HONE_GUARDED_BY(mutex_);  // keys of those whose turn has not come
  bool ended_ HONE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hone
