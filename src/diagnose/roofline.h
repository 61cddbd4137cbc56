// The roofline of a device with all parts of a candidate on it: how many FLOPs each does with a byte, and what the
// device's ceilings make of that. Where a part was timed it stands where it is, else on the roof, which is where it
// could be at best.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "target/device_model.h"

namespace hone {

struct RoofPoint {
  std::string name;
  double flops = 0, bytes = 0;  // of one run
  double us = 0;                // measured; 0 = not
  bool bound = false;           // of the whole problem: what has to be done at least
};

struct Roofline {
  std::string device;
  double bandwidth = 0;  // bytes/s of the device's memory
  struct Ceiling {
    std::string name;
    double flops = 0;  // FLOP/s
  };
  std::vector<Ceiling> ceilings;  // highest first
  std::vector<RoofPoint> points;
  bool datasheet = false;  // nothing was measured

  double Attainable(double flops_per_byte) const;  // FLOP/s under the highest ceiling
};

// Points are the profiles with FLOPs and bytes. Empty ceilings: the device's are not known.
Roofline RooflineOf(std::span<const Profile> profiles, const DeviceModel& device);

std::string Describe(const Roofline& roofline);  // a table; empty without points or ceilings
std::string DrawSvg(const Roofline& roofline);   // one document that needs nothing else
nlohmann::json ToJson(const Roofline& roofline);

}  // namespace hone
