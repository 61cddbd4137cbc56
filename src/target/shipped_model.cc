#include "target/shipped_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "target/generation.h"

namespace hone {
namespace {

DeviceModel Filled(const ShippedModel& shipped) {
  DeviceModel device;
  const Generation* generation = FindGeneration(shipped.generation);
  HONE_CHECK(generation != nullptr, "a shipped model is of a known generation");
  SetGeneration(device, *generation);
  device.id = shipped.key;
  device.processor = shipped.name;
  device.multiprocessors = shipped.multiprocessors;
  device.clock_mhz = shipped.clock_mhz;
  device.l2_bytes = shipped.l2_bytes;
  device.memory_bytes = shipped.memory_bytes;
  Ceilings& ceilings = device.ceilings;
  ceilings.source = Ceilings::Source::kDatasheet;
  // What second-level caches reach no datasheet says: below their size it is memory's as well.
  ceilings.bandwidth = {{shipped.l2_bytes, shipped.memory_bytes_per_second, shipped.memory_bytes_per_second}};
  ceilings.matmul_flops = {{"f16", shipped.f16},
                           {"bf16", shipped.f16},
                           {"tf32", shipped.tf32},
                           {"f32", shipped.vector_f32},
                           {"f64", shipped.f64}};
  if (shipped.f8 > 0) ceilings.matmul_flops["f8"] = shipped.f8;
  if (shipped.i8 > 0) ceilings.matmul_flops["i8"] = shipped.i8;
  ceilings.vector_flops_f32 = shipped.vector_f32;
  ceilings.fma_flops_f32 = SinglePrecisionCeiling(shipped.vector_f32, shipped.f16);
  ceilings.fma_flops_f64 = shipped.f64;
  return device;
}

}  // namespace

Result<DeviceModel> FindShippedModel(std::string_view key) {
  std::vector<std::string_view> known;
  for (const ShippedModel* shipped : AllShippedModels()) {
    if (shipped->key == key) return Filled(*shipped);
    known.push_back(shipped->key);
  }
  return Fail(ErrorKind::kUsage, fmt::format("no device is known as '{}': there are {}", key, fmt::join(known, ", ")));
}

DeviceModel TypicalDevice() {
  auto device = FindShippedModel("h200");
  HONE_CHECK(device.has_value(), "the typical device is among the shipped ones");
  return *std::move(device);
}

double SinglePrecisionCeiling(double vector_f32, double halves) { return std::max(vector_f32, halves / 3); }

}  // namespace hone
