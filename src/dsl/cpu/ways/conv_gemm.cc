#include "dsl/cpu/convolution.h"
#include "dsl/cpu/convolution_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_conv_gemm {
namespace {

std::optional<double> Cost(const Kernel& kernel) { return ConvCost(kernel, ConvInputs::kPacked); }

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "gemm",
    .doc = "the inputs under the windows are packed as a matrix",
    .why_not = WhyNotRounded,
    .cost = Cost,
    .knobs = kConvKnobs,
    .emit_cpu = EmitConvolutionGemm,
};

}  // namespace hone::dsl::cpu_way_conv_gemm
