// That problems are imported before their turn, so many ahead, and none twice.
#include "command/import_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace hone {
namespace {

std::vector<SuiteProblem> Problems(const std::vector<std::string>& keys) {
  std::vector<SuiteProblem> problems;
  for (const std::string& key : keys) problems.push_back({key, key, "", key + ".py"});
  return problems;
}

// What was imported, and a gate that imports wait at.
class Imports {
 public:
  void One(const SuiteProblem& problem) {
    const MutexLock lock(mutex_);
    begun_.push_back(problem.key);
    changed_.NotifyAll();
    while (closed_) changed_.Wait(mutex_);
  }
  void Set(bool closed) {
    const MutexLock lock(mutex_);
    closed_ = closed;
    changed_.NotifyAll();
  }
  // Those that have begun, once there are so many.
  std::vector<std::string> Begun(std::size_t count) {
    const MutexLock lock(mutex_);
    while (begun_.size() < count) changed_.Wait(mutex_);
    return begun_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool closed_ HONE_GUARDED_BY(mutex_) = false;
  std::vector<std::string> begun_ HONE_GUARDED_BY(mutex_);
};

using Keys = std::vector<std::string>;

TEST(ImportAheadTest, SoManyAreReadyBeforeTheirTurn) {
  const auto problems = Problems({"a", "b", "c", "d"});
  Imports imports;
  {
    ImportAhead ahead(problems, 2, [&](const SuiteProblem& problem) { imports.One(problem); });
    EXPECT_EQ(imports.Begun(2), (Keys{"a", "b"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(imports.Begun(0), (Keys{"a", "b"}));
    ahead.Begin(problems[0]);
    EXPECT_EQ(imports.Begun(3), (Keys{"a", "b", "c"}));
  }
  EXPECT_EQ(imports.Begun(0), (Keys{"a", "b", "c"}));
}

TEST(ImportAheadTest, WhoseTurnComesFirstImportsItself) {
  const auto problems = Problems({"a", "b", "c"});
  Imports imports;
  imports.Set(true);
  ImportAhead ahead(problems, 3, [&](const SuiteProblem& problem) { imports.One(problem); });
  imports.Begun(1);
  ahead.Begin(problems[1]);
  imports.Set(false);
  EXPECT_EQ(imports.Begun(2), (Keys{"a", "c"}));
}

TEST(ImportAheadTest, ATurnWaitsForItsImport) {
  const auto problems = Problems({"a"});
  Imports imports;
  imports.Set(true);
  ImportAhead ahead(problems, 1, [&](const SuiteProblem& problem) { imports.One(problem); });
  imports.Begun(1);
  bool open = false;
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open = true;
    imports.Set(false);
  });
  ahead.Begin(problems[0]);
  EXPECT_TRUE(open);
  opens.join();
}

}  // namespace
}  // namespace hone
