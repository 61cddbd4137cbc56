// Models of devices that need not be here: their facts, and ceilings from their makers' datasheets. One file in
// target/models/ is one, named as `--device` calls it, collected by a generated table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/row.h"
#include "target/device_model.h"

namespace hone {

struct ShippedModel {
  std::string_view key;         // "h200": the file's name
  std::string_view name;        // "NVIDIA H200", as the driver calls it
  std::string_view generation;  // "sm_90a"
  int multiprocessors = 0;
  int clock_mhz = 0;  // boost
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  double memory_bytes_per_second = 0;
  // FLOP/s, dense, of the tensor cores with sums in f32 and of the ordinary units, at the boost clock.
  double f16 = 0, tf32 = 0, f64 = 0, vector_f32 = 0;
  double f8 = 0, i8 = 0;  // of the tensor cores, with sums in f32 and in i32; 0: it has none for these
};

std::span<const ShippedModel* const> AllShippedModels();
// The device of that key, ceilings from the datasheet; no libraries. kUsage lists the known ones.
Result<DeviceModel> FindShippedModel(std::string_view key);

// What is written for where no device is here and nobody names one.
DeviceModel TypicalDevice();

// What products of halves, and the ordinary units, make of f32's ceiling: three products of halves are one as accurate
// as single precision.
double SinglePrecisionCeiling(double vector_f32, double halves);

}  // namespace hone
