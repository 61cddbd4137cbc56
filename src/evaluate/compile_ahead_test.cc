#include "evaluate/compile_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/mutex.h"
#include "base/testing/must.h"

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
    CompileAhead ahead({.threads = 1}, std::ref(compiler));
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
  CompileAhead ahead({.threads = 2}, std::ref(compiler));
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
  CompileAhead ahead({.threads = 3}, std::ref(compiler));
  ahead.Go();
  ahead.Want({Of("a"), Of("b"), Of("c"), Of("d")});
  EXPECT_TRUE(compiler.WaitFor(3));
  compiler.LetGo();
  EXPECT_TRUE(compiler.WaitFor(4));
}

TEST(CompileAheadTest, NothingIsCompiledTwice) {
  Compiler compiler;
  compiler.LetGo();
  CompileAhead ahead({.threads = 2}, std::ref(compiler));
  ahead.Go();
  ahead.Want({Of("a"), Of("a"), Of("b")});
  ASSERT_TRUE(compiler.WaitFor(2));
  ahead.Want({Of("a"), Of("b"), Of("c")});
  ASSERT_TRUE(compiler.WaitFor(3));
  const auto texts = compiler.Texts();
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "a"), 1);
}

TEST(CompileAheadTest, WhatIsWantedForLongIsBegunAnyway) {
  using std::chrono::milliseconds;
  Compiler compiler;
  compiler.LetGo();
  CompileAhead ahead({.threads = 2, .patience = milliseconds(100)}, std::ref(compiler));
  const auto begun = std::chrono::steady_clock::now();
  ahead.Want({Of("a")});
  std::this_thread::sleep_for(milliseconds(20));
  ahead.Want({Of("a"), Of("b")});  // begins nothing anew
  ASSERT_TRUE(compiler.WaitFor(2));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(100));
  const CompilersUse use = ahead.use();
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(use.of_s, 2 * (since.count() - 0.1)) << "counted from when they may";
}

TEST(CompileAheadTest, WhoShareTheirPlacesCompileNoMoreThanThoseAtOnce) {
  const TempDirectory folder = testing::Must(TempDirectory::Create("places"));
  const std::vector<std::string> places = CompilerPlaces(folder.path() + "/compilers", 3);
  EXPECT_EQ(std::set<std::string>(places.begin(), places.end()).size(), 3U);
  Compiler one, other;
  other.LetGo();
  CompileAhead busy({.threads = 3, .places = places}, std::ref(one));
  busy.Go();
  busy.Want({Of("a"), Of("b"), Of("c"), Of("d")});
  ASSERT_TRUE(one.WaitFor(3));
  {
    CompileAhead none({.threads = 3, .places = places}, std::ref(other));
    none.Go();
    none.Want({Of("e"), Of("f")});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(other.Texts().empty()) << "there is no place left";
    EXPECT_EQ(none.use().busy_s, 0) << "who waits for one is not busy";
  }  // and who ends does not wait for one
  CompileAhead free({.threads = 3, .places = places}, std::ref(other));
  free.Go();
  free.Want({Of("e"), Of("f")});
  one.LetGo();
  EXPECT_TRUE(other.WaitFor(2));
}

TEST(CompileAheadTest, WhereThereAreNoPlacesNoneIsWaitedFor) {
  Compiler compiler;
  CompileAhead ahead({.threads = 2, .places = CompilerPlaces("/dev/null/compilers", 2)}, std::ref(compiler));
  ahead.Go();
  ahead.Want({Of("a"), Of("b")});
  EXPECT_TRUE(compiler.WaitFor(2));
  compiler.LetGo();
}

TEST(CompileAheadTest, SaysHowBusyItsThreadsAre) {
  using std::chrono::milliseconds;
  Compiler compiler;
  CompileAhead ahead({.threads = 2}, std::ref(compiler));
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
