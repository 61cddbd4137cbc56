// A generation of CUDA devices: what all devices of an architecture have. One file in target/generations/ is one, named
// as its architecture, collected by a generated table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/row.h"
#include "target/device_model.h"

namespace hone {

struct Generation {
  std::string_view arch;      // what sources are compiled for, with all that the generation can: "sm_90a"
  int major = 0, minor = 0;   // its compute capability
  std::int64_t l1_bytes = 0;  // of a multiprocessor, shared memory included
  MultiprocessorLimits limits;
  Instructions has;
};

std::span<const Generation* const> AllGenerations();
const Generation* FindGeneration(std::string_view arch);  // null: none of that name
// That of devices with this compute capability; null: none that is known.
const Generation* GenerationOf(int major, int minor);

// The arch for a capability: the generation's, or "sm_103" where none is known, with nothing that only that one has.
std::string ArchOf(int major, int minor);
// Why code for `arch` does not run on a device of `device_arch`, or nothing. Code for "sm_90a" runs on that alone, code
// for "sm_80" on every later minor version of its major one.
bool RunsOn(std::string_view arch, std::string_view device_arch);

// Fills in what the generation says.
void SetGeneration(DeviceModel& device, const Generation& generation);

}  // namespace hone
