#include "target/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "target/cuda/cubin.h"
#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    folder_ = std::make_unique<TempDirectory>(*TempDirectory::Create("nvrtc"));
    setenv("HONE_CACHE", folder_->path().c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  static CompiledCubin Compile(CubinRequest request) {
    request.arch = "sm_90a";
    auto compiled = CompileCubin(request);
    EXPECT_TRUE(compiled) << compiled.error().message;
    return compiled ? std::move(*compiled) : CompiledCubin{};
  }
  static std::vector<KernelFacts> Facts(const CompiledCubin& compiled) {
    auto facts = ReadCubin(compiled.cubin);
    EXPECT_TRUE(facts) << facts.error().message;
    return facts ? std::move(*facts) : std::vector<KernelFacts>{};
  }

  std::unique_ptr<TempDirectory> folder_;
};

constexpr char kScale[] = R"(
struct Pair { float a; int b[5]; };
extern "C" __global__ void __launch_bounds__(256) scale(const float4* __restrict__ x, float4* y, int n, Pair p) {
  __shared__ float4 part[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : float4{};
  __syncthreads();
  float4 v = part[threadIdx.x ^ 1];
  v.x *= p.a; v.y *= p.b[2];
  if (i < n) y[i] = v;
}
)";

TEST_F(NvrtcTest, ACubinTellsItsKernelsFacts) {
  const auto facts = Facts(Compile({.source = kScale}));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].name, "scale");
  EXPECT_GT(facts[0].registers, 0);
  EXPECT_EQ(facts[0].static_shared_bytes, 64 * 16);
  EXPECT_EQ(facts[0].max_threads, 256);
  EXPECT_EQ(facts[0].barriers, 1);
  EXPECT_EQ(facts[0].spill_load_bytes, 0);
  ASSERT_EQ(facts[0].parameters.size(), 4u);
  EXPECT_EQ(facts[0].parameters[2].offset, 16);
  EXPECT_EQ(facts[0].parameters[2].bytes, 4);
  EXPECT_EQ(facts[0].parameters[3].bytes, 24);
  EXPECT_EQ(facts[0].instructions.at("LDG.128"), 1);
  EXPECT_EQ(facts[0].instructions.at("STG.128"), 1);
  EXPECT_GE(facts[0].instructions.at("BAR"), 1);
}

TEST_F(NvrtcTest, SpillsAreCountedAsPtxasCountsThem) {
  // 64 values alive at once, in 32 registers.
  const auto compiled = Compile({.source = R"(
extern "C" __global__ void spill(float* x) {
  float v[64];
  for (int i = 0; i < 64; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = v[63 - i] * v[(i * 7) % 64];
})",
                                 .flags = {"--maxrregcount=32"}});
  const auto facts = Facts(compiled);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_LE(facts[0].registers, 32);
  EXPECT_GT(facts[0].spill_store_bytes, 0);
  const auto said = std::to_string(facts[0].spill_store_bytes) + " bytes spill stores, " +
                    std::to_string(facts[0].spill_load_bytes) + " bytes spill loads";
  EXPECT_NE(compiled.log.find(said), std::string::npos) << said << "\n" << compiled.log;
  EXPECT_GT(facts[0].stack_bytes, 0);
}

TEST_F(NvrtcTest, AnErrorHasItsLine) {
  const auto compiled = Compile({.source = "__global__ void f(float* x) {\n  x[0] = y;\n}\n"});
  EXPECT_FALSE(compiled.ok());
  ASSERT_FALSE(compiled.errors.empty());
  EXPECT_EQ(compiled.errors[0].line, 2);
  EXPECT_NE(compiled.errors[0].message.find("\"y\""), std::string::npos) << compiled.errors[0].message;
  EXPECT_FALSE(compiled.cached);
  EXPECT_TRUE(Compile({.source = "__global__ void f(float* x) {\n  x[0] = y;\n}\n"}).cached);
}

TEST_F(NvrtcTest, AnAssemblersEndIsAnErrorToo) {
  std::string source = "extern \"C\" __global__ void __launch_bounds__(1024) sums(float* x, unsigned long a) {\n";
  std::string results, operands;
  for (int i = 0; i < 128; ++i) {
    source += "  float s" + std::to_string(i) + " = x[" + std::to_string(i) + "];\n";
    results += (i == 0 ? "%" : ", %") + std::to_string(i);
    operands += std::string(i == 0 ? "" : ", ") + "\"+f\"(s" + std::to_string(i) + ")";
  }
  source += "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" + results +
            "}, %128, %129, 1, 1, 1, 0, 0;\" : " + operands + " : \"l\"(a), \"l\"(a));\n";
  for (int i = 0; i < 128; ++i) source += "  x[" + std::to_string(i) + "] = s" + std::to_string(i) + ";\n";
  const auto compiled = Compile({.source = source + "}\n"});
  EXPECT_FALSE(compiled.ok());
  ASSERT_FALSE(compiled.errors.empty());
  EXPECT_NE(compiled.errors[0].message.find("Insufficient registers"), std::string::npos) << compiled.errors[0].message;
}

// A process of its own, which finds a toolkit that we may take away.
TEST(NvrtcHeadersTest, AToolkitThatIsGoneIsNotTheSourcesError) {
  const auto toolkit = FindToolkit();
  if (!toolkit || toolkit->includes.empty()) GTEST_SKIP() << "there is no toolkit with headers";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto folder = *TempDirectory::Create("toolkit");
        const std::filesystem::path root = folder.path();
        setenv("HONE_CACHE", (root / "cache").c_str(), 1);
        setenv("HONE_CUDA", root.c_str(), 1);
        std::filesystem::create_directory_symlink(std::filesystem::path(toolkit->nvrtc).parent_path(), root / "lib");
        const auto link = [&] {
          std::filesystem::create_directory_symlink(toolkit->includes.front(), root / "include");
        };
        link();
        const auto made = [](std::string_view source) {
          return CompileCubin({.source = std::string(source), .arch = "sm_90a"});
        };
        if (!made(kScale) || !made(kScale)->ok()) std::exit(1);
        std::filesystem::remove(root / "include");
        constexpr std::string_view kIncludes = "#include <cuda_bf16.h>\n__global__ void f(__nv_bfloat16* x) {}\n";
        const auto without = made(kIncludes);
        if (without || without.error().kind != ErrorKind::kTool) std::exit(2);
        std::fprintf(stderr, "%s\n", without.error().message.c_str());
        link();
        std::exit(made(kIncludes) && made(kIncludes)->ok() ? 0 : 3);
      },
      testing::ExitedWithCode(0), "the CUDA toolkit's headers are no longer in .*/include");
}

TEST_F(NvrtcTest, AnInstanceOfATemplateKeepsItsSymbol) {
  const CubinRequest request{.source = "template <class T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }",
                             .instances = {"fill<float, 3>", "fill<double, 4>"}};
  for (const bool cached : {false, true}) {
    const auto compiled = Compile(request);
    EXPECT_EQ(compiled.cached, cached);
    ASSERT_EQ(compiled.symbols.size(), 2u);
    const auto facts = Facts(compiled);
    for (const auto& symbol : compiled.symbols) {
      EXPECT_TRUE(std::any_of(facts.begin(), facts.end(), [&](const auto& one) { return one.name == symbol; }))
          << symbol;
    }
    EXPECT_NE(compiled.symbols[0], compiled.symbols[1]);
  }
}

TEST_F(NvrtcTest, TheToolkitsHeadersAreFound) {
  const auto compiled = Compile({.source = R"(
#include <cuda_bf16.h>
extern "C" __global__ void fill_half(__nv_bfloat16* x) { x[threadIdx.x] = __float2bfloat16(0.5f); })"});
  EXPECT_TRUE(compiled.ok()) << compiled.log;
}

TEST_F(NvrtcTest, SeveralThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> registers(4);
  for (std::size_t i = 0; i < registers.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto facts = Facts(Compile({.source = std::string(kScale) + "// " + std::to_string(i % 2)}));
      if (!facts.empty()) registers[i] = facts[0].registers;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : registers) EXPECT_EQ(count, registers[0]);
  EXPECT_GT(registers[0], 0);
}

TEST(CubinTest, WhatIsNoCubinIsRefused) {
  for (const std::string& text : {std::string(), std::string("not ELF"),
                                  std::string("\x7f"
                                              "ELF") +
                                      std::string(60, '\0')})
    EXPECT_FALSE(ReadCubin(text));
}

TEST_F(NvrtcTest, ACubinThatIsCutShortIsRefusedWithoutACrash) {
  const auto compiled = Compile({.source = kScale});
  for (std::size_t length = 0; length < compiled.cubin.size(); length += 41) {
    const auto facts = ReadCubin(std::string_view(compiled.cubin).substr(0, length));
    if (facts) {
      EXPECT_EQ(facts->size(), 1u) << length;  // only the program headers, which nobody reads, were cut
    }
  }
}

// Foreign source, by a process of its own.
class ForeignSourceTest : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    const char* program = std::getenv("HONE_PROGRAM");
    if (!program) GTEST_SKIP() << "HONE_PROGRAM does not name the program (ctest sets it)";
    program_ = program;
  }
  std::string program_;
};

TEST_F(ForeignSourceTest, ItBecomesWhatOursBecomes) {
  const CubinRequest ours{.source = "template <class T> __global__ void one(T* y) { *y = T(1); }\n",
                          .instances = {"one<float>", "one<double>"}};
  CubinRequest foreign = ours;
  foreign.program = program_;
  foreign.source += "// foreign\n";  // or the cache had it
  const auto here = Compile(ours), apart = Compile(foreign);
  EXPECT_FALSE(apart.cached);
  ASSERT_EQ(apart.symbols.size(), 2u);
  EXPECT_EQ(apart.symbols, here.symbols);
  const auto facts = Facts(apart);
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].instructions, Facts(here)[0].instructions);
  EXPECT_TRUE(Compile(foreign).cached);
}

TEST_F(ForeignSourceTest, ItsErrorHasItsLine) {
  const auto compiled = Compile({.source = "__global__ void f(float* x) {\n  x[0] = y;\n}\n", .program = program_});
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.errors.at(0).line, 2);
  EXPECT_EQ(compiled.errors.at(0).message, "identifier \"y\" is undefined");
}

TEST_F(ForeignSourceTest, WhatDoesNotComeToAnEndIsEndedAndNotRemembered) {
  // 10^8 statements.
  const CubinRequest endless{.source =
                                 "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
                                 "extern \"C\" __global__ void k(float* y) { B(B(y[0] += 1;)) }\n",
                             .program = program_,
                             .wall = std::chrono::milliseconds(500)};
  for (int n = 0; n < 2; ++n) {
    const auto compiled = Compile(endless);
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.errors.at(0).message, "compiling took longer than 0.5 s");
    EXPECT_FALSE(compiled.cached);
    EXPECT_LT(compiled.milliseconds, 5000);
  }
}

TEST_F(ForeignSourceTest, ItReadsNoFileOfOurs) {
  if (!BubblewrapWorks()) GTEST_SKIP() << "bubblewrap is absent or may not make a sandbox here";
  const std::string secret = folder_->path() + "/secret.h";
  ASSERT_TRUE(WriteFileAtomically(secret, "int f() { return secret; }\n"));
  const std::string source = "#include \"" + secret + "\"\n";
  EXPECT_NE(Compile({.source = source}).log.find("identifier \"secret\""), std::string::npos) << "ours may";
  const auto compiled = Compile({.source = source + "// foreign\n", .program = program_});
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.log.find("identifier \"secret\""), std::string::npos) << compiled.log;
  EXPECT_NE(compiled.errors.at(0).message.find("cannot open"), std::string::npos);
}

TEST_F(ForeignSourceTest, AnOptionThatNvrtcDoesNotKnowIsTheSourcesError) {
  const auto compiled =
      Compile({.source = "__global__ void f() {}\n", .flags = {"--no-such-option"}, .program = program_});
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(compiled.log.find("no-such-option"), std::string::npos) << compiled.log;
}

}  // namespace
}  // namespace hone::cuda
