#include "target/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hone {
namespace {

// "sm_103a" -> {10, 3, true}.
struct Parts {
  int major = 0, minor = 0;
  bool exact = false;  // with what later devices lack
};
Parts PartsOf(std::string_view arch) {
  int number = 0;
  const char* end = arch.data() + arch.size();
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, end, number);
  return {number / 10, number % 10, !arch.empty() && (arch.back() == 'a' || arch.back() == 'f')};
}

}  // namespace

const Generation* FindGeneration(std::string_view arch) {
  for (const Generation* generation : AllGenerations()) {
    if (generation->arch == arch) return generation;
  }
  return nullptr;
}

const Generation* GenerationOf(int major, int minor) {
  for (const Generation* generation : AllGenerations()) {
    if (generation->major == major && generation->minor == minor) return generation;
  }
  return nullptr;
}

std::string ArchOf(int major, int minor) {
  const Generation* generation = GenerationOf(major, minor);
  return generation ? std::string(generation->arch) : fmt::format("sm_{}{}", major, minor);
}

bool RunsOn(std::string_view arch, std::string_view device_arch) {
  if (arch == device_arch) return true;
  const Parts code = PartsOf(arch), device = PartsOf(device_arch);
  return !code.exact && code.major == device.major && code.minor <= device.minor;
}

void SetGeneration(DeviceModel& device, const Generation& generation) {
  device.kind = DeviceKind::kCuda;
  device.arch = generation.arch;
  device.l1_bytes = generation.l1_bytes;
  device.limits = generation.limits;
  device.has = generation.has;
}

}  // namespace hone
