#include "dsl/cpu/convolution.h"
#include "dsl/cpu/convolution_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_conv_direct {
namespace {

std::optional<double> Cost(const Kernel& kernel) { return ConvCost(kernel, ConvInputs::kRows); }

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "direct",
    .doc = "the window's taps read shifted rows of a copy with borders",
    .why_not = WhyNotRounded,
    .cost = Cost,
    .knobs = kConvKnobs,
    .emit_cpu = EmitConvolutionDirect,
};

}  // namespace hone::dsl::cpu_way_conv_direct
