#include "evaluate/compile_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace hone {
namespace {

Candidate Of(const std::string& text) { return {.kind = CandidateKind::kProgram, .text = text}; }

// Keeps what it compiles, and holds on until it is let go.
struct Compiler {
  Mutex mutex;
  Condition changed;
  std::vector<std::string> texts HONE_GUARDED_BY(mutex);
  bool let_go HONE_GUARDED_BY(mutex) = false;

  void operator()(const Candidate& candidate) {
    const MutexLock lock(mutex);
    texts.push_back(candidate.text);
    changed.NotifyAll();
    while (!let_go) changed.Wait(mutex);
  }
  bool WaitFor(std::size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const MutexLock lock(mutex);
    while (texts.size() < count && changed.WaitUntil(mutex, until)) continue;
    return texts.size() >= count;
  }
  std::vector<std::string> Texts() {
    const MutexLock lock(mutex);
    return texts;
  }
  void LetGo() {
    const MutexLock lock(mutex);
    let_go = true;
    changed.NotifyAll();
  }
};

TEST(CompileAheadTest, WhatIsWantedLaterTakesThePlaceOfWhatWaits) {
  Compiler compiler;
  {
    CompileAhead ahead(1, std::ref(compiler));
    ahead.Go();
    ahead.Want({Of("a"), Of("b")});
    ASSERT_TRUE(compiler.WaitFor(1));  // b waits behind it
    ahead.Want({Of("c"), Of("a")});
    compiler.LetGo();
    ASSERT_TRUE(compiler.WaitFor(2));
  }
  EXPECT_EQ(compiler.Texts(), (std::vector<std::string>{"a", "c"}));
}

TEST(CompileAheadTest, NothingIsBegunBeforeItMayGo) {
  Compiler compiler;
  compiler.LetGo();
  CompileAhead ahead(2, std::ref(compiler));
  ahead.Want({Of("a"), Of("b")});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(compiler.Texts().empty());
  ahead.Want({Of("c")});
  ahead.Go();
  ASSERT_TRUE(compiler.WaitFor(1));
  EXPECT_EQ(compiler.Texts(), (std::vector<std::string>{"c"}));
}

TEST(CompileAheadTest, SeveralThreadsCompileAtOnce) {
  Compiler compiler;
  CompileAhead ahead(3, std::ref(compiler));
  ahead.Go();
  ahead.Want({Of("a"), Of("b"), Of("c"), Of("d")});
  EXPECT_TRUE(compiler.WaitFor(3));
  compiler.LetGo();
  EXPECT_TRUE(compiler.WaitFor(4));
}

TEST(CompileAheadTest, NothingIsCompiledTwice) {
  Compiler compiler;
  compiler.LetGo();
  CompileAhead ahead(2, std::ref(compiler));
  ahead.Go();
  ahead.Want({Of("a"), Of("a"), Of("b")});
  ASSERT_TRUE(compiler.WaitFor(2));
  ahead.Want({Of("a"), Of("b"), Of("c")});
  ASSERT_TRUE(compiler.WaitFor(3));
  const auto texts = compiler.Texts();
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "a"), 1);
}

TEST(CompileAheadTest, SaysHowBusyItsThreadsAre) {
  using std::chrono::milliseconds;
  Compiler compiler;
  CompileAhead ahead(2, std::ref(compiler));
  ahead.Want({Of("a")});
  EXPECT_EQ(ahead.use().of_s, 0) << "nobody has let it go";
  ahead.Go();
  ASSERT_TRUE(compiler.WaitFor(1));
  std::this_thread::sleep_for(milliseconds(50));
  const CompilersUse meanwhile = ahead.use();
  EXPECT_EQ(meanwhile.threads, 2);
  EXPECT_GE(meanwhile.busy_s, 0.05);
  EXPECT_LE(meanwhile.busy_s, meanwhile.of_s / 2);
  compiler.LetGo();
  while (ahead.compiled() < 1) std::this_thread::sleep_for(milliseconds(1));
  const CompilersUse done = ahead.use();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(ahead.use().busy_s, done.busy_s) << "nobody compiles any more";
  EXPECT_GE(ahead.use().of_s, done.of_s + 2 * 0.02);
}

}  // namespace
}  // namespace hone
