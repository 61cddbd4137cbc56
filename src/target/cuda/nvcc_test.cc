#include "target/cuda/nvcc.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "target/cuda/fatbin.h"

namespace hone::cuda {
namespace {

TEST(NvccDiagnosticsTest, TheFrontEndsErrorsCarryTheirLine) {
  const auto errors = ParseNvccDiagnostics(
      "kernel.cu(3): warning #177-D: variable \"a\" was declared but never referenced\n"
      "kernel.cu(7): error: identifier \"x\" is undefined\n"
      "    y[i] = x;\n"
      "kernel.cu(9): error #20: expected a \";\"\n"
      "2 errors detected in the compilation of \"kernel.cu\".\n",
      "kernel.cu");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].line, 7);
  EXPECT_EQ(errors[0].message, "identifier \"x\" is undefined");
  EXPECT_EQ(errors[1].line, 9);
}

TEST(NvccDiagnosticsTest, AnErrorInAHeaderSaysWhere) {
  const auto errors = ParseNvccDiagnostics("/a/b.h(12): error: no instance matches\n", "kernel.cu");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 0);
  EXPECT_EQ(errors[0].message, "no instance matches (at /a/b.h(12))");
}

TEST(NvccDiagnosticsTest, TheAssemblersAndTheHostCompilersErrorsAreFound) {
  auto errors = ParseNvccDiagnostics(
      "ptxas error   : Entry function 'k' uses too much shared data (0xc800 bytes, 0xc000 max)\n", "kernel.cu");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].message.find("too much shared data"), std::string::npos);
  errors = ParseNvccDiagnostics("kernel.cu:4:10: fatal error: none.h: No such file or directory\n", "kernel.cu");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 4);
}

// An empty cache for each test.
class NvccTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = NvccVersion(); !version) GTEST_SKIP() << version.error().message;
    auto folder = TempDirectory::Create("nvcc-test");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    setenv("HONE_CACHE", folder_->path().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HONE_CACHE");
    unsetenv("HONE_CUTLASS");
  }
  static Compiled Compile(const std::string& source) {
    auto compiled = CompileCudaModule({.source = source, .arch = "sm_90a"});
    EXPECT_TRUE(compiled) << compiled.error().message;
    return compiled ? std::move(*compiled) : Compiled{};
  }
  std::optional<TempDirectory> folder_;
};

constexpr const char* kModule = R"(#include <hone/module.h>
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
extern "C" int32_t hone_run(const HoneCall* call) {
  const int n = static_cast<int>(call->inputs[0].shape[0]);
  relu<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), static_cast<float*>(call->outputs[0].data), n);
  return cudaGetLastError();
}
)";

TEST_F(NvccTest, AModuleIsCompiledOnceAndExportsTheAbi) {
  const auto compiled = Compile(kModule);
  ASSERT_TRUE(compiled.ok()) << compiled.log;
  EXPECT_FALSE(compiled.cached);
  void* library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "hone_run"), nullptr);
  EXPECT_EQ(dlsym(library, "relu"), nullptr);
  dlclose(library);
  EXPECT_TRUE(Compile(kModule).cached);
}

TEST_F(NvccTest, ALibrarysKernelsAreReadWithoutCompilingThemAgain) {
  const std::string more = "__global__ void doubled(float* y) { y[threadIdx.x] *= 2; }\n";
  for (const bool lines : {false, true}) {
    const auto compiled = CompileCudaModule({.source = kModule + more, .arch = "sm_90a", .lines = lines});
    ASSERT_TRUE(compiled && compiled->ok());
    const auto bytes = ReadFile(compiled->library);
    ASSERT_TRUE(bytes);
    const auto kernels = ReadKernelsOfLibrary(*bytes);
    ASSERT_TRUE(kernels) << kernels.error().message;
    ASSERT_EQ(kernels->size(), 2u);
    for (const KernelFacts& kernel : *kernels) {
      EXPECT_GT(kernel.registers, 0);
      EXPECT_EQ(kernel.places.size(), lines ? kernel.code.size() : 0);
    }
    EXPECT_NE((*kernels)[0].name.find("doubled"), std::string::npos) << (*kernels)[0].name;
    EXPECT_NE((*kernels)[1].name.find("relu"), std::string::npos) << (*kernels)[1].name;
  }
}

TEST_F(NvccTest, ALibraryThatIsCutShortOrDamagedIsReadWithoutACrash) {
  const auto compiled = Compile(kModule);
  ASSERT_TRUE(compiled.ok());
  const std::string bytes = ReadFile(compiled.library).value();
  for (std::size_t length = 0; length < bytes.size(); length += 997)
    EXPECT_FALSE(ReadKernelsOfLibrary(std::string_view(bytes).substr(0, length))) << length;
  const std::size_t containers = bytes.find("\x50\xed\x55\xba");
  ASSERT_NE(containers, std::string::npos);
  for (std::size_t at = containers; at < containers + 512; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    const auto kernels = ReadKernelsOfLibrary(damaged);
    if (kernels) {
      EXPECT_LE(kernels->size(), 1u) << at;
    }
  }
}

TEST_F(NvccTest, AnErrorComesBackWithItsLineAndIsRemembered) {
  const std::string wrong = "#include <hone/module.h>\n__global__ void k(float* y) {\n  y[0] = nothing;\n}\n";
  for (const bool cached : {false, true}) {
    const auto compiled = Compile(wrong);
    EXPECT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.cached, cached);
    ASSERT_FALSE(compiled.errors.empty());
    EXPECT_EQ(compiled.errors[0].line, 3);
    EXPECT_NE(compiled.errors[0].message.find("nothing"), std::string::npos);
  }
}

TEST_F(NvccTest, CutlassIsIncludedFromTheFolderThatIsNamed) {
  const auto root = folder_->path() + "/cutlass";
  std::filesystem::create_directories(root + "/include/cutlass");
  std::ofstream(root + "/include/cutlass/version.h")
      << "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 1\n";
  const std::string source =
      "#include <cutlass/version.h>\n#include <hone/module.h>\nstatic_assert(CUTLASS_MAJOR == 4, \"\");\n"
      "extern \"C\" int32_t hone_abi_version() { return HONE_ABI_VERSION; }\n";
  setenv("HONE_CUTLASS", "/nowhere", 1);
  const auto without = Compile(source);
  EXPECT_FALSE(without.ok());
  ASSERT_FALSE(without.errors.empty());
  EXPECT_EQ(without.errors[0].message, "HONE_CUTLASS is /nowhere, where there is no include/cutlass");
  setenv("HONE_CUTLASS", root.c_str(), 1);
  const auto cutlass = FindCutlass();
  ASSERT_TRUE(cutlass) << cutlass.error().message;
  EXPECT_EQ(cutlass->version, "4.2.1");
  const auto with = Compile(source);
  EXPECT_TRUE(with.ok()) << with.log;
}

}  // namespace
}  // namespace hone::cuda
