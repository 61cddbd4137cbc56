// Kernels that need instructions which not every device has.
#include <gtest/gtest.h>

#include <string>

#include "dsl/family.h"
#include "dsl/lower.h"
#include "dsl/way.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

// Of the last statement: its settings for the device, or why it is refused there.
std::string On(const DeviceModel& device, const std::string& text) {
  const auto lowered = Lower("program p\n" + text + "\n", nullptr, device);
  if (const auto* complaint = std::get_if<Complaint>(&lowered)) return complaint->message;
  std::string settings;
  for (const auto& [knob, value] : std::get<KernelProgram>(lowered).kernels.back().settings)
    settings += (settings.empty() ? "" : ", ") + knob + ": " + ToString(value);
  return settings;
}

std::string On(std::string_view device, const std::string& text) { return On(FindShippedModel(device).value(), text); }

TEST(NeedsTest, AProductIsTheLibrarysOrTheOrdinaryUnitsWhereThereIsNoWgmma) {
  const std::string product =
      "input a: f32[1024, 1024]\ninput b: f32[1024, 1024]\noutput y: f32[1024, 1024]\ny = matmul(a, b)";
  EXPECT_NE(On("h200", product).find("precision: f32x3"), std::string::npos);
  for (const auto device : {"a100", "l40s", "b200", "rtx5090"})
    EXPECT_NE(On(device, product).find("precision: simt"), std::string::npos) << device;
  DeviceModel with_library = FindShippedModel("a100").value();
  with_library.libraries.cublas_lt = true;
  EXPECT_NE(On(with_library, product).find("precision: library"), std::string::npos);
  EXPECT_EQ(On("b200", product + " with {precision: f32x3}"),
            "'precision' f32x3: NVIDIA B200 (sm_100a) has no wgmma; try simt");
}

TEST(NeedsTest, AConvolutionOfTheHostIsTriedByTheLibraryWhereThatIsFound) {
  const auto paths = [](bool found) {
    DeviceModel host{.threads = 2, .vector_bytes = 32};
    host.libraries.onednn = found;
    const auto lowered = Lower(
        "program p\ninput x: f32[2, 16, 12, 12]\nparam w: f32[32, 16, 3, 3]\noutput y: f32[2, 32, 12, 12]\n"
        "y = conv(x, w) by {padding: 1}\n",
        nullptr, host);
    const Kernel& kernel = std::get<KernelProgram>(lowered).kernels[0];
    std::string words;
    for (const Setting& value : KnobsOf(kernel)[0].values(kernel)) words += ToString(value) + " ";
    return words;
  };
  EXPECT_EQ(paths(true), paths(false) + "library ") << "the last to be tried";
  EXPECT_EQ(paths(false).find("library"), std::string::npos);
}

TEST(NeedsTest, TheKernelOfAttentionIsRefusedWhereThereIsNoWgmma) {
  const std::string attention =
      "input q: f16[4, 128, 64]\ninput k: f16[4, 128, 64]\ninput v: f16[4, 128, 64]\noutput y: f16[4, 128, 64]\n"
      "y = attention(q, k, v) let score = it * 0.125";
  EXPECT_NE(On("h100", attention).find("tile: "), std::string::npos) << On("h100", attention);
  const std::string why = On("l40s", attention);
  EXPECT_NE(
      why.find("NVIDIA L40S (sm_89) has no wgmma, which this kernel multiplies with: write two products and a softmax"),
      std::string::npos)
      << why;
}

TEST(NeedsTest, BlocksOfARowAreAClusterOnlyWhereThereAreClusters) {
  const std::string row = "input x: f32[1024, 65536]\noutput y: f32[1024, 65536]\ny = softmax(x) over [1]";
  EXPECT_NE(On("h200", row).find("cluster: 4"), std::string::npos) << On("h200", row);
  EXPECT_NE(On("a100", row).find("cluster: 1, keep: yes, lanes: 256, pack: 4, split: 1, team: 3"), std::string::npos)
      << On("a100", row);
  EXPECT_EQ(On("a100", row + " with {cluster: 2, lanes: 256}"),
            "'cluster' 2: NVIDIA A100-SXM4-80GB has no clusters of 2 blocks; try 1");
}

}  // namespace
}  // namespace hone::dsl
