// Norms between convolutions whose channels lie last.
#include "propose/expert/turned_norms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/cuda/channels_last.h"
#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/program.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

DeviceModel WithCudnn() {
  DeviceModel device = TypicalDevice();
  device.libraries = {.cublas_lt = true, .cudnn = true};
  return device;
}

// Two convolutions and a group norm between them; how both lie, and what else reads the norm.
std::string Block(const std::string& layout, const std::string& more = "") {
  return fmt::format(R"(program block
input  x: f16[2, 16, 8, 8]
param  w: f16[16, 16, 3, 3]
param  b: f16[16]
param  g: f16[16]
output y: f16[2, 16, 8, 8]
output z: f16[2, 16, 8, 8]
view bias = b: [16, 1, 1] strides [1, 0, 0]
first: f16 = conv(x, w) by {{padding: 1, stride: 1}} with {{layout: {0}, path: library}} -> it + bias
view groups = first: [2, 4, 4, 64] strides [1024, 256, 64, 1]
view scale = g: [4, 4, 1] strides [4, 1, 0]
n: f16 = norm(groups) over [2, 3]
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-05) * scale
view image = n: [2, 16, 8, 8] strides [1024, 64, 8, 1]
y = conv(image, w) by {{padding: 1, stride: 1}} with {{layout: {0}, path: library}}
z = {1}
)",
                     layout, more.empty() ? "map(x)" : more);
}

std::string Turned(const std::string& text) {
  const auto parsed = dsl::Parse(text);
  const auto* program = std::get_if<dsl::Program>(&parsed);
  if (!program) return ToString(std::get<dsl::Complaint>(parsed));
  const auto checked = dsl::Check(*program, nullptr, WithCudnn());
  if (const auto* said = std::get_if<dsl::Complaint>(&checked)) return ToString(*said);
  const auto turned = WithTurnedNorms(*program, std::get<dsl::KernelProgram>(checked), WithCudnn());
  return turned ? dsl::Print(*turned) : "none";
}

TEST(TurnedNormsTest, ANormBetweenTwoGoesOverPixelsBeforeChannels) {
  const std::string text = Turned(Block("channels_last"));
  EXPECT_NE(text.find("view groups_turned = first: [2, 64, 4, 4] strides [1024, 1, 256, 64]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("view scale_turned = g: [1, 1, 4, 4] strides [0, 0, 4, 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("n: f16 = norm(groups_turned) over [1, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("view image = n: [2, 16, 8, 8] strides [1024, 1, 128, 16]"), std::string::npos) << text;
  EXPECT_NE(text.find("end: library, layout: channels_last"), std::string::npos) << text;
  // Nothing is copied between: what both read first, their end that is no bias, weights once for each.
  const auto parsed = dsl::Parse(text);
  const auto checked = dsl::Check(std::get<dsl::Program>(parsed), nullptr, WithCudnn());
  const auto split = dsl::SplitChannelsLast(std::get<dsl::KernelProgram>(checked));
  std::size_t maps = 0;
  for (const auto& kernel : split.kernels) maps += kernel.family->name == "map" ? 1 : 0;
  EXPECT_EQ(maps, 5u);  // x, w twice, y as it has to lie, z
}

TEST(TurnedNormsTest, OthersStay) {
  EXPECT_EQ(Turned(Block("channels_first")), "none");
  EXPECT_EQ(Turned(Block("channels_last", "map(image)")), "none");  // somebody else reads what it makes
}

}  // namespace
}  // namespace hone::expert
