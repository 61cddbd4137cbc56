// A module's call over a problem's tensors as PlaceTensors placed them, for those who run a module and compare nothing.
#pragma once

#include <vector>

#include "hone/module.h"
#include "worker/placed_tensors.h"

namespace hone {

// The tensors outlive it. Not movable: the call points into it.
class PlacedCall {
 public:
  PlacedCall(const std::vector<Placed>& placed, void* stream);
  PlacedCall(const PlacedCall&) = delete;
  PlacedCall& operator=(const PlacedCall&) = delete;

  HoneCall call{};  // whose state is its user's affair

 private:
  std::vector<DLTensor> views_[3];  // inputs, parameters, outputs
};

}  // namespace hone
