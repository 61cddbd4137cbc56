#include "target/cpu/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "target/build_cache.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Every test has an empty cache of its own.
class CompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDirectory::Create("compiler-test");
    ASSERT_TRUE(folder.has_value());
    folder_.emplace(*std::move(folder));
    setenv("HONE_CACHE", folder_->path().c_str(), 1);
    unsetenv("HONE_CACHE_MAX");
    const auto version = HostCompilerVersion();
    if (!version) GTEST_SKIP() << version.error().message;
  }
  void TearDown() override {
    unsetenv("HONE_CACHE");
    unsetenv("HONE_CACHE_MAX");
  }

  static Compiled Compile(const CompileRequest& request) {
    auto compiled = CompileModule(request);
    EXPECT_TRUE(compiled.has_value()) << compiled.error().message;
    return compiled ? *std::move(compiled) : Compiled{};
  }
  std::string Modules() const { return folder_->path() + "/builds"; }
  // Shared objects in the cache.
  int Count() const {
    int count = 0;
    for (const auto& file : fs::recursive_directory_iterator(Modules())) count += file.path().extension() == ".built";
    return count;
  }
  bool NothingIsLeftInBuild() const { return fs::is_empty(Modules() + "/build"); }
  // As if it had last been used so long ago.
  static void Age(const Compiled& compiled, int seconds) {
    auto path = fs::path(compiled.library);
    const timespec then{.tv_sec = time(nullptr) - seconds, .tv_nsec = 0};
    const timespec times[] = {then, then};
    for (const char* suffix : {".built", ".log"}) utimensat(AT_FDCWD, path.replace_extension(suffix).c_str(), times, 0);
  }

  std::optional<TempDirectory> folder_;
};

// A module that does nothing, different for each `salt`.
std::string Source(int salt) {
  return fmt::format(
      "#include <hone/module.h>\n"
      "extern \"C\" int32_t hone_abi_version(void) {{ return HONE_ABI_VERSION; }}\n"
      "extern \"C\" int32_t hone_run(const HoneCall*) {{ return {}; }}\n",
      salt);
}

TEST_F(CompilerTest, ModuleIsBuiltAndItsAbiIsThere) {
  for (const bool trusted : {true, false}) {
    const auto compiled = Compile({.source = Source(41), .trusted = trusted});
    ASSERT_TRUE(compiled.ok()) << compiled.log;
    EXPECT_FALSE(compiled.cached);
    void* library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto run = reinterpret_cast<int (*)(const void*)>(dlsym(library, "hone_run"));
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run(nullptr), 41);
    dlclose(library);
  }
  EXPECT_TRUE(NothingIsLeftInBuild());
}

TEST_F(CompilerTest, SameRequestIsTakenFromTheCacheQuickly) {
  const auto first = Compile({.source = Source(1)});
  ASSERT_TRUE(first.ok()) << first.log;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto again = Compile({.source = Source(1)});
    EXPECT_TRUE(again.cached);
    EXPECT_EQ(again.library, first.library);
    best = std::min(best, again.milliseconds);
  }
#ifndef HONE_SANITIZED
  EXPECT_LT(best, 2.0);
#endif
}

TEST_F(CompilerTest, SourceFlagsAndTrustEachMakeAnotherEntry) {
  std::set<std::string> libraries;
  libraries.insert(Compile({.source = Source(1)}).library);
  libraries.insert(Compile({.source = Source(2)}).library);
  libraries.insert(Compile({.source = Source(1), .flags = {"-O1"}}).library);
  libraries.insert(Compile({.source = Source(1), .trusted = true}).library);
  EXPECT_EQ(libraries.size(), 4u);
}

TEST_F(CompilerTest, WhatDoesNotCompileIsRememberedWithItsErrors) {
  const CompileRequest request{.source = "#include <hone/module.h>\nint f( {\n"};
  const auto first = Compile(request);
  EXPECT_FALSE(first.ok());
  EXPECT_FALSE(first.cached);
  ASSERT_FALSE(first.errors.empty());
  EXPECT_EQ(first.errors[0].line, 2);
  const auto again = Compile(request);
  EXPECT_FALSE(again.ok());
  EXPECT_TRUE(again.cached);
  ASSERT_EQ(again.errors.size(), first.errors.size());
  EXPECT_EQ(again.errors[0].message, first.errors[0].message);
  EXPECT_EQ(again.log, first.log);
  EXPECT_EQ(Count(), 0);
}

// What a compiler says is read by rules and kept for others: it does not go by who asks.
TEST_F(CompilerTest, ItSpeaksPlainEnglishWhateverTheLocaleIs) {
  const char* before = std::getenv("LC_ALL");
  const std::string kept = before ? before : "";
  setenv("LC_ALL", "C.UTF-8", 1);
  for (const bool trusted : {true, false}) {
    const auto compiled = Compile({.source = "int f() { return 1 }\n", .trusted = trusted});
    ASSERT_FALSE(compiled.errors.empty());
    EXPECT_NE(compiled.errors[0].message.find("';'"), std::string::npos) << compiled.errors[0].message;
  }
  if (before) {
    setenv("LC_ALL", kept.c_str(), 1);
  } else {
    unsetenv("LC_ALL");
  }
}

TEST_F(CompilerTest, SymbolThatIsNowhereIsFoundAtCompileTime) {
  const auto compiled =
      Compile({.source = "void nowhere(); __attribute__((visibility(\"default\"))) void f() { nowhere(); }"});
  EXPECT_FALSE(compiled.ok());
  ASSERT_FALSE(compiled.errors.empty());
  EXPECT_NE(compiled.errors[0].message.find("nowhere"), std::string::npos);
}

TEST_F(CompilerTest, SharedObjectCutShortIsBuiltAgain) {
  const auto first = Compile({.source = Source(1)});
  ASSERT_TRUE(first.ok());
  fs::resize_file(first.library, 100);
  const auto again = Compile({.source = Source(1)});
  EXPECT_FALSE(again.cached);
  EXPECT_GT(fs::file_size(again.library), 100u);
}

TEST_F(CompilerTest, ProcessesThatWantTheSameThingDoNotDisturbEachOther) {
  pid_t children[8];
  for (auto& child : children) {
    child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) continue;
    bool good = true;
    for (int salt = 0; salt < 3; ++salt) {
      const auto compiled = CompileModule({.source = Source(salt)});
      good = good && compiled && compiled->ok() && dlopen(compiled->library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
    }
    _exit(good ? 0 : 1);
  }
  for (const auto child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Count(), 3);
  EXPECT_TRUE(NothingIsLeftInBuild());
}

TEST_F(CompilerTest, OfThreadsThatWantTheSameThingOneCompiles) {
  std::atomic<int> compiled{0}, good{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto result = CompileModule({.source = Source(7)});
      if (!result || !result->ok()) return;
      ++good;
      compiled += !result->cached;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 6);
  EXPECT_EQ(compiled, 1);
}

TEST_F(CompilerTest, LeastRecentlyUsedGoesWhenTheCacheIsFull) {
  Compiled kept[3];
  for (int i = 0; i < 3; ++i) kept[i] = Compile({.source = Source(i)});
  Age(kept[0], 3000);
  Age(kept[1], 2000);
  Age(kept[2], 1000);
  EXPECT_TRUE(Compile({.source = Source(0)}).cached);  // now the youngest
  // Room for three: the fourth drops the oldest, and with the slack of a tenth another.
  const auto bytes = fs::file_size(kept[0].library);
  setenv("HONE_CACHE_MAX", std::to_string(bytes * 3 + 30'000).c_str(), 1);
  const auto fourth = Compile({.source = Source(3)});
  EXPECT_TRUE(fs::exists(fourth.library));
  EXPECT_TRUE(fs::exists(kept[0].library));
  EXPECT_FALSE(fs::exists(kept[1].library));
  EXPECT_FALSE(Compile({.source = Source(1)}).cached);
}

TEST_F(CompilerTest, WhatWasJustUsedIsNeverEvicted) {
  setenv("HONE_CACHE_MAX", "1K", 1);
  const auto first = Compile({.source = Source(1)});
  const auto second = Compile({.source = Source(2)});
  EXPECT_TRUE(fs::exists(first.library));
  EXPECT_TRUE(fs::exists(second.library));
}

TEST_F(CompilerTest, ForeignSourceCannotReadFilesOfTheMachine) {
  if (!BubblewrapWorks()) GTEST_SKIP() << "bubblewrap is absent or may not make a sandbox here";
  const auto secret = folder_->path() + "/secret.h";
  std::ofstream(secret) << "#define SECRET 1\nsecret words\n";
  for (const auto& path : {std::string("/etc/passwd"), secret}) {
    const auto included = Compile({.source = fmt::format("#include \"{}\"\n", path)});
    EXPECT_FALSE(included.ok());
    EXPECT_NE(included.log.find("No such file"), std::string::npos) << included.log;
    EXPECT_FALSE(Compile({.source = fmt::format("asm(\".incbin \\\"{}\\\"\");\n", path)}).ok());
  }
  EXPECT_TRUE(Compile({.source = fmt::format("asm(\".incbin \\\"{}\\\"\");\n", secret), .trusted = true}).ok());
}

TEST_F(CompilerTest, CompilerThatTakesTooLongIsKilledWithItsChildren) {
  // A constant expression that keeps the compiler proper, a grandchild, busy for minutes.
  const CompileRequest request{
      .source =
          "constexpr long F(long n) { long s = 0; for (long i = 0; i < n; ++i) s ^= i * s + 1; return s; }\n"
          "static_assert(F(2000000000) == 17);\n",
      .flags = {"-fconstexpr-loop-limit=2147483647", "-fconstexpr-ops-limit=9223372036854775807",
                "-DHONE_TIMEOUT_TEST"},
      .wall = std::chrono::milliseconds(700)};
  const auto start = std::chrono::steady_clock::now();
  const auto compiled = Compile(request);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_FALSE(compiled.ok());
  EXPECT_TRUE(compiled.timed_out);
  ASSERT_FALSE(compiled.errors.empty());
  EXPECT_EQ(compiled.errors[0].message, "compiling took longer than 0.7 s");
  const auto busy = [] {
    for (const auto& entry : fs::directory_iterator("/proc", fs::directory_options::skip_permission_denied)) {
      const auto text = ReadFile(entry.path().string() + "/cmdline");
      if (text && text->find("HONE_TIMEOUT_TEST") != std::string::npos) return true;
    }
    return false;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (busy() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(busy());
  EXPECT_FALSE(Compile(request).cached) << "a time-out may be the machine's fault";
  EXPECT_TRUE(NothingIsLeftInBuild());
}

TEST_F(CompilerTest, HugeObjectIsRefused) {
  const auto compiled = Compile({.source = "asm(\".data\\n.fill 1000000000, 1, 1\\n.text\");\n"});
  EXPECT_FALSE(compiled.ok());
  EXPECT_FALSE(compiled.errors.empty());
}

TEST_F(CompilerTest, CompilerThatIsNotThereIsSaid) {
  setenv("HONE_CXX", "/nowhere/c++", 1);
  const auto compiled = CompileModule({.source = Source(1)});
  unsetenv("HONE_CXX");
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().kind, ErrorKind::kNotFound);
}

TEST_F(CompilerTest, NanAndInfinityKeepTheirMeaning) {
  const auto compiled = Compile(
      {.source =
           "#include <cmath>\n"
           "extern \"C\" __attribute__((visibility(\"default\"))) int f(const float* x, int n) {\n"
           "  int count = 0;\n"
           "  for (int i = 0; i < n; ++i) count += (x[i] != x[i]) + 2 * std::isinf(x[i]) + 4 * (x[i] > 0 ? 1 : 0);\n"
           "  return count;\n}\n"});
  ASSERT_TRUE(compiled.ok()) << compiled.log;
  void* library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto f = reinterpret_cast<int (*)(const float*, int)>(dlsym(library, "f"));
  std::vector<float> x(64, std::nanf(""));
  EXPECT_EQ(f(x.data(), 64), 64);
  x.assign(64, -INFINITY);
  EXPECT_EQ(f(x.data(), 64), 128);
  dlclose(library);
}

}  // namespace
}  // namespace hone
