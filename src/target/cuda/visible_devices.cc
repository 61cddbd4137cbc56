#include "target/cuda/visible_devices.h"

#include <cstdlib>
#include <string_view>

namespace hone::cuda {

void ShowDevices(std::vector<std::string>& environment, const std::string& device) {
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES=";
  const char* visible = device.empty() ? std::getenv("CUDA_VISIBLE_DEVICES") : device.c_str();
  if (visible == nullptr) return;
  std::erase_if(environment, [&](const std::string& line) { return line.starts_with(kName); });
  environment.push_back(std::string(kName) + visible);
}

void UseOneQueue(std::vector<std::string>& environment) { environment.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS=1"); }

}  // namespace hone::cuda
