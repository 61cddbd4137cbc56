#include "oracle/device_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/testing/small_problem.h"
#include "problem/generate.h"
#include "target/cuda/driver.h"

namespace hone {
namespace {

TEST(DeviceReferenceTest, ADeviceExpectsWhatTheProcessorExpects) {
  if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
  auto graph = Graph::Create(
      testing::SmallProblem("fp32", "x f32 64x300", "y f32 64x300",
                            R"([{"op": "_softmax", "args": {"self": "%x", "dim": -1}, "outputs": ["y"]}])"));
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<float> x(64 * 300);
  ASSERT_TRUE(Fill(*graph->problem().Inputs()[0], 1, 0, {}, x.data(), ""));
  const auto oracle = Oracle::Compile(*graph);
  ASSERT_TRUE(oracle) << oracle.error().message;
  const void* inputs[] = {x.data()};
  const auto host = oracle->Run({x.data()}, 2);
  const auto device = ComputeOnDevice(*graph, inputs);
  ASSERT_TRUE(host) << host.error().message;
  ASSERT_TRUE(device) << device.error().message;
  ASSERT_EQ(device->at(0).value.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = host->at(0).value[i], budget = host->at(0).budget[i];
    ASSERT_NEAR(device->at(0).value[i], value, 1e-13) << i;
    ASSERT_NEAR(device->at(0).budget[i], budget, 0.5 * budget) << i;
  }
}

}  // namespace
}  // namespace hone
