// Scales of reals of 8 bits go behind their products, however a layer spells them.
#include <gtest/gtest.h>

#include <string>

#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/way.h"
#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::Written;

std::string Tensor(const std::string& name, const std::string& shape, const std::string& type,
                   const std::string& role = "input") {
  const std::string generator = R"(, "generator": {"kind": "uniform", "low": 0, "high": 1})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + type + R"(", "role": ")" + role +
         "\"" + (role == "output" ? "" : generator) + "}";
}
std::string Op(const std::string& op, const std::string& args, const std::string& made) {
  return R"({"op": "aten.)" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + made + "\"]}";
}

struct Layer {
  std::string scale_shape = "[512, 1]";  // of the weights, [512, 1024]
  std::string wide = "f32";              // what both are made before they are scaled
  std::string contract = "torch", result = "f32";
  std::string apply = "mul.Tensor";
};

// (x.to(wide) * sx) @ (w.to(wide) * sw).t(), as `result`
std::string Text(const Layer& layer) {
  const std::string to = R"("dtype": ")" + layer.wide + R"(", "self": )";
  const std::string groups = layer.scale_shape == "[512, 8, 1]" ? "yes" : "";
  std::string graph = Op("_to_copy.default", to + R"("%x")", "xf") + ", " +
                      Op(layer.apply, R"("other": "%sx", "self": "%xf")", "xs") + ", " +
                      Op("_to_copy.default", to + R"("%w")", "wf") + ", ";
  if (groups.empty()) {
    graph += Op(layer.apply, R"("other": "%sw", "self": "%wf")", "ws") + ", ";
  } else {
    graph += Op("view.default", R"("self": "%wf", "size": [512, 8, 128])", "wg") + ", " +
             Op(layer.apply, R"("other": "%sw", "self": "%wg")", "wm") + ", " +
             Op("view.default", R"("self": "%wm", "size": [512, 1024])", "ws") + ", ";
  }
  graph += Op("permute.default", R"("dims": [1, 0], "self": "%ws")", "wt") + ", " +
           Op("mm.default", R"("mat2": "%wt", "self": "%xs")", layer.result == layer.wide ? "y" : "p");
  if (layer.result != layer.wide)
    graph += ", " + Op("_to_copy.default", R"("dtype": ")" + layer.result + R"(", "self": "%p")", "y");
  return R"({"hone_problem": 1, "name": "layer", "contract": ")" + layer.contract + R"(", "tensors": [)" +
         Tensor("x", "[768, 1024]", "f8e4m3") + ", " + Tensor("sx", "[768, 1]", layer.wide) + ", " +
         Tensor("w", "[512, 1024]", "f8e4m3", "parameter") + ", " +
         Tensor("sw", layer.scale_shape, layer.wide, "parameter") + ", " +
         Tensor("y", "[768, 512]", layer.result, "output") + R"(], "graph": [)" + graph + "]}";
}

// The ways of the kernels, in order.
std::string Ways(const Layer& layer) {
  const auto program = Written(Text(layer));
  if (!program) return "none";
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  if (const auto* complaint = std::get_if<dsl::Complaint>(&checked)) return ToString(*complaint);
  std::string ways;
  for (const dsl::Kernel& kernel : std::get<dsl::KernelProgram>(checked).kernels)
    ways += (ways.empty() ? "" : " ") + std::string(kernel.family->name) + ":" + std::string(kernel.way->name);
  return ways;
}

TEST(ScalesTest, ScalesOfRowsAndColumnsGoBehindTheProduct) {
  const std::string text = testing::WrittenText(Text({}));
  EXPECT_NE(text.find("matmul(x, w_view)"), std::string::npos) << text;
  EXPECT_NE(text.find("-> it * sx * sw_view"), std::string::npos) << text;
  EXPECT_EQ(Ways({}), "matmul:f16");                         // exact products of halves, sums of f32
  EXPECT_EQ(Ways({.scale_shape = "[1, 1]"}), "matmul:f16");  // of all
  EXPECT_EQ(Ways({.contract = "fp32"}), "matmul:f16");       // as exact as that asks for
  EXPECT_EQ(Ways({.apply = "div.Tensor"}), "matmul:f16");    // by what it was divided by
}

TEST(ScalesTest, SumsOfFewBitsAreForWhatWasRoundedToFewer) {
  EXPECT_EQ(Ways({.wide = "bf16", .result = "bf16"}), "matmul:f8");
  EXPECT_EQ(Ways({.wide = "bf16", .contract = "fp32", .result = "bf16"}), "matmul:f16");
  // In f32 until the product was rounded.
  EXPECT_EQ(Ways({.result = "bf16"}), "matmul:f16");
}

TEST(ScalesTest, ScalesAlongTheSumStay) {
  const std::string text = testing::WrittenText(Text({.scale_shape = "[512, 8, 1]"}));
  EXPECT_EQ(text.find("matmul(x, w"), std::string::npos) << text;
  EXPECT_EQ(testing::WrittenText(Text({}), {.maps = false}).find("matmul(x, w"), std::string::npos);
}

}  // namespace
}  // namespace hone::expert
