#include "dsl/cpu/convolution.h"
#include "dsl/cpu/convolution_knobs.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

std::optional<double> Cost(const Kernel& kernel) { return ConvCost(kernel, ConvInputs::kRows); }

}  // namespace

HONE_CPU_WAY(conv_direct){
    .family = "conv",
    .name = "direct",
    .doc = "the window's taps read shifted rows of a copy with borders",
    .why_not = WhyNotRounded,
    .cost = Cost,
    .knobs = kConvKnobs,
    .emit_cpu = EmitConvolutionDirect,
};

}  // namespace hone::dsl
