#include "protocol/worker_kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "target/cuda/cubin.h"
#include "target/cuda/nvrtc.h"

namespace hone {
namespace {

TEST(WorkerKernelsTest, TheWorkersKernelsCompileAndTakeWhatTheyAreGiven) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto cubin = CompileWorkerKernels("sm_90a");
  ASSERT_TRUE(cubin) << cubin.error().message;
  const auto kernels = cuda::ReadCubin(*cubin);
  ASSERT_TRUE(kernels) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 3u);
  for (const auto& kernel : *kernels) {
    SCOPED_TRACE(kernel.name);
    std::vector<int> bytes;
    for (const auto& parameter : kernel.parameters) bytes.push_back(parameter.bytes);
    if (kernel.name == "Hold") {
      EXPECT_EQ(bytes, (std::vector<int>{8, 8, 4, 4, 8}));  // two addresses, two numbers, nanoseconds
    } else if (kernel.name == "Sweep") {
      EXPECT_EQ(bytes, (std::vector<int>{8, 8, 8}));  // an address, how many, an address
    } else {
      EXPECT_EQ(bytes, (std::vector<int>{4, 8}));  // words, nanoseconds
    }
    EXPECT_EQ(kernel.static_shared_bytes, 0);  // the launch asks for all that a block may have
  }
}

}  // namespace
}  // namespace hone
