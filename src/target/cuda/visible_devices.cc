#include "target/cuda/visible_devices.h"

#include <cstdlib>

namespace hone::cuda {

void ShowDevices(std::vector<std::string>& environment, const std::string& device) {
  const char* visible = device.empty() ? std::getenv("CUDA_VISIBLE_DEVICES") : device.c_str();
  if (visible != nullptr) environment.push_back(std::string("CUDA_VISIBLE_DEVICES=") + visible);
}

}  // namespace hone::cuda
