#include "evaluate/compile_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace hone {
namespace {

Candidate Of(const std::string& text) { return {.kind = CandidateKind::kProgram, .text = text}; }

// Keeps what it compiles, and holds on until it is let go.
struct Compiler {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> texts;
  bool let_go = false;

  void operator()(const Candidate& candidate) {
    std::unique_lock lock(mutex);
    texts.push_back(candidate.text);
    changed.notify_all();
    changed.wait(lock, [this] { return let_go; });
  }
  bool WaitFor(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), [&] { return texts.size() >= count; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex);
    let_go = true;
    changed.notify_all();
  }
};

TEST(CompileAheadTest, WhatIsWantedLaterTakesThePlaceOfWhatWaits) {
  Compiler compiler;
  {
    CompileAhead ahead(1, std::ref(compiler));
    ahead.Want({Of("a"), Of("b")});
    ASSERT_TRUE(compiler.WaitFor(1));  // b waits behind it
    ahead.Want({Of("c"), Of("a")});
    compiler.LetGo();
    ASSERT_TRUE(compiler.WaitFor(2));
  }
  EXPECT_EQ(compiler.texts, (std::vector<std::string>{"a", "c"}));
}

TEST(CompileAheadTest, SeveralThreadsCompileAtOnce) {
  Compiler compiler;
  CompileAhead ahead(3, std::ref(compiler));
  ahead.Want({Of("a"), Of("b"), Of("c"), Of("d")});
  EXPECT_TRUE(compiler.WaitFor(3));
  compiler.LetGo();
  EXPECT_TRUE(compiler.WaitFor(4));
}

TEST(CompileAheadTest, NothingIsCompiledTwice) {
  Compiler compiler;
  compiler.LetGo();
  CompileAhead ahead(2, std::ref(compiler));
  ahead.Want({Of("a"), Of("a"), Of("b")});
  ASSERT_TRUE(compiler.WaitFor(2));
  ahead.Want({Of("a"), Of("b"), Of("c")});
  ASSERT_TRUE(compiler.WaitFor(3));
  EXPECT_EQ(std::count(compiler.texts.begin(), compiler.texts.end(), "a"), 1);
}

}  // namespace
}  // namespace hone
