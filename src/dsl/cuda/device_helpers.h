// Functions and types of CUDA C++ that kernels are written with. A kernel's source holds those that it uses.
#pragma once

#include <array>
#include <string_view>

namespace hone::dsl {

struct DeviceHelper {
  std::string_view name;
  std::array<std::string_view, 2> needs;  // others, which stand before it; "": none
  std::string_view text;
};
const DeviceHelper& FindDeviceHelper(std::string_view name);  // one that there is

// How a real becomes one of 8 bits, as PyTorch rounds it.
extern const std::string_view kRoundedText;

}  // namespace hone::dsl
