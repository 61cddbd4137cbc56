#include "dsl/cpu/convolution.h"
#include "dsl/cpu/convolution_knobs.h"
#include "dsl/cpu/convolution_library.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_conv_library {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (LibraryTakes(kernel)) return WhyNotWritten(kernel);
  return "the library reads operands only where they lie, dense, and no transposed ones";
}
std::optional<double> Cost(const Kernel& kernel) {
  if (kernel.device->libraries.onednn) return 3;
  return std::nullopt;
}

}  // namespace

// What is set is for where the module finds no library: it does then as gemm does.
HONE_ROW(Way){
    .family = "conv",
    .name = "library",
    .doc = "oneDNN, where it is found",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kConvKnobs,
    .emit_cpu = EmitConvolutionByLibrary,
};

}  // namespace hone::dsl::cpu_way_conv_library
