// Scales of reals of 8 bits go behind their products, however a layer spells them.
#include <gtest/gtest.h>

#include <string>

#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/way.h"
#include "propose/expert/beginnings.h"
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

TEST(ScalesTest, ScalesAlongTheSumStayWhereNobodyAsksForThem) {
  const std::string text = testing::WrittenText(Text({.scale_shape = "[512, 8, 1]"}));
  EXPECT_EQ(text.find("matmul(x, w"), std::string::npos) << text;
  EXPECT_EQ(testing::WrittenText(Text({}), {.maps = false}).find("matmul(x, w"), std::string::npos);
}

// Activations of 16 bits, made 8 with a scale for each row and 128 of K (or given so), times weights with one for 128 x
// 128, both made f32 before they are multiplied, or by torch._scaled_mm.
struct Blocks {
  bool quantized = true, scaled_mm = false;
  std::string contract = "torch", weight_scales = "[4, 1, 8, 1]", w_view = "[4, 128, 8, 128]";
};
std::string TextOfBlocks(const Blocks& blocks) {
  std::string graph, scales = "sx";
  if (blocks.quantized) {
    graph = Op("_to_copy.default", R"("dtype": "f32", "self": "%x")", "xf") + ", " +
            Op("view.default", R"("self": "%xf", "size": [768, 8, 128])", "xg") + ", " +
            Op("abs.default", R"("self": "%xg")", "xa") + ", " +
            Op("amax.default", R"("self": "%xa", "dim": [-1], "keepdim": true)", "most") + ", " +
            Op("div.Tensor", R"("self": "%most", "other": 448)", "sx") + ", " +
            Op("div.Tensor", R"("self": "%xg", "other": "%sx")", "xs") + ", " +
            Op("_to_copy.default", R"("dtype": "f8e4m3", "self": "%xs")", "xg8") + ", " +
            Op("view.default", R"("self": "%xg8", "size": [768, 1024])", "x8") + ", ";
  } else {
    graph = Op("view.default", R"("self": "%x", "size": [768, 1024])", "x8") + ", ";
  }
  if (blocks.scaled_mm) {
    graph += Op("permute.default", R"("dims": [1, 0], "self": "%w")", "wt") + ", " +
             Op("view.default", R"("self": "%sx", "size": [768, 8])", "sa") + ", " +
             Op("view.default", R"("self": "%sw", "size": [4, 8])", "sb") + ", " +
             Op("permute.default", R"("dims": [1, 0], "self": "%sb")", "st") + ", " +
             Op("_scaled_mm.default",
                R"("self": "%x8", "mat2": "%wt", "scale_a": "%sa", "scale_b": "%st", "out_dtype": "bf16")", "y");
  } else {
    graph += Op("_to_copy.default", R"("dtype": "f32", "self": "%x8")", "x32") + ", " +
             Op("view.default", R"("self": "%x32", "size": [768, 8, 128])", "x3") + ", " +
             Op("mul.Tensor", R"("self": "%x3", "other": "%sx")", "xm") + ", " +
             Op("view.default", R"("self": "%xm", "size": [768, 1024])", "a") + ", " +
             Op("_to_copy.default", R"("dtype": "f32", "self": "%w")", "wf") + ", " +
             Op("view.default", R"("self": "%wf", "size": )" + blocks.w_view, "w4") + ", " +
             Op("mul.Tensor", R"("self": "%w4", "other": "%sw")", "wm") + ", " +
             Op("view.default", R"("self": "%wm", "size": [512, 1024])", "b") + ", " +
             Op("permute.default", R"("dims": [1, 0], "self": "%b")", "bt") + ", " +
             Op("mm.default", R"("self": "%a", "mat2": "%bt")", "p") + ", " +
             Op("_to_copy.default", R"("dtype": "bf16", "self": "%p")", "y");
  }
  return R"({"hone_problem": 1, "name": "layer", "contract": ")" + blocks.contract + R"(", "tensors": [)" +
         Tensor("x", "[768, 1024]", blocks.quantized ? "bf16" : "f8e4m3") + ", " +
         (blocks.quantized ? "" : Tensor("sx", "[768, 8, 1]", "f32") + ", ") +
         Tensor("w", "[512, 1024]", "f8e4m3", "parameter") + ", " +
         Tensor("sw", blocks.weight_scales, "f32", "parameter") + ", " + Tensor("y", "[768, 512]", "bf16", "output") +
         R"(], "graph": [)" + graph + "]}";
}
std::string ProgramOfBlocks(const Blocks& blocks) {
  return testing::WrittenText(TextOfBlocks(blocks), {.weights = true});
}

TEST(ScalesTest, ScalesOfBlocksGoIntoTheProduct) {
  for (const bool scaled_mm : {false, true}) {
    const std::string text = ProgramOfBlocks({.quantized = false, .scaled_mm = scaled_mm});
    EXPECT_NE(text.find("scaled_matmul(x, w_view) by {block: 1x128x128}"), std::string::npos) << text;
    EXPECT_NE(text.find("let scale = sx_view * "), std::string::npos) << text;
  }
}

TEST(ScalesTest, QuantizingInBlocksIsOneNormBeforeTheProduct) {
  for (const bool scaled_mm : {false, true}) {
    const std::string text = ProgramOfBlocks({.scaled_mm = scaled_mm});
    EXPECT_NE(text.find(": f8e4m3 = norm(x_view)"), std::string::npos) << text;
    EXPECT_NE(text.find("also "), std::string::npos) << text;
    EXPECT_NE(text.find("scaled_matmul("), std::string::npos) << text;
    EXPECT_EQ(text.find("map("), std::string::npos) << text;
  }
}

TEST(ScalesTest, AScaleForRowsOrColumnsOfBlocksIsTheirs) {
  // Of each column, for 128 of K: no kernel has registers for those.
  const std::string columns = ProgramOfBlocks({.weight_scales = "[512, 8, 1]", .w_view = "[512, 8, 128]"});
  EXPECT_EQ(columns.find("scaled_matmul"), std::string::npos) << columns;
  // Of each column alone it goes behind the sum.
  const std::string behind = ProgramOfBlocks({.weight_scales = "[512, 1]", .w_view = "[512, 1024]"});
  EXPECT_NE(behind.find("by {block: 1x512x128}"), std::string::npos) << behind;
  EXPECT_NE(behind.find("-> it * sw"), std::string::npos) << behind;
}

TEST(ScalesTest, ProcessorsHaveAKernelForAllOfThem) {
  const auto programs = [](const Blocks& blocks) {
    const auto problem = ParseProblem(TextOfBlocks(blocks), "test");
    std::string texts;
    for (const Beginning& one : BeginningsIn(*Graph::Create(*problem), DeviceModel{})) texts += dsl::Print(one.program);
    return texts;
  };
  for (const bool quantized : {false, true}) {
    for (const bool scaled_mm : {false, true}) {
      const std::string texts = programs({.quantized = quantized, .scaled_mm = scaled_mm});
      EXPECT_NE(texts.find("by {block: 1x128x128}"), std::string::npos) << texts;
    }
  }
  // Of each column, too.
  const std::string columns = programs({.weight_scales = "[512, 8, 1]", .w_view = "[512, 8, 128]"});
  EXPECT_NE(columns.find("by {block: 1x1x128}"), std::string::npos) << columns;
}

TEST(ScalesTest, TheLastBlockMayBeSmaller) {
  std::string text = TextOfBlocks({.quantized = false, .scaled_mm = true});
  const auto replace = [&](const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
  };
  replace("[512, 1024]", "[400, 1024]");
  replace("[768, 512]", "[768, 400]");
  const std::string program = testing::WrittenText(text, {.weights = true});
  EXPECT_NE(program.find("scaled_matmul(x, w_view) by {block: 1x128x128}"), std::string::npos) << program;
}

TEST(ScalesTest, SumsOfBlocksAreOfFewBitsWhereOperandsWereRoundedToEight) {
  const auto halves = [](const Blocks& blocks) {
    return ProgramOfBlocks(blocks).find("precision: f16") != std::string::npos;
  };
  EXPECT_FALSE(halves({}));
  EXPECT_FALSE(halves({.quantized = false, .scaled_mm = true}));  // as PyTorch's own are
  EXPECT_TRUE(halves({.quantized = false}));                      // sums of f32
  EXPECT_TRUE(halves({.contract = "fp32"}));
}

}  // namespace
}  // namespace hone::expert
