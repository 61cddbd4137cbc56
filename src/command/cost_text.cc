#include "command/cost_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hone {

std::string CountText(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  int prefix = 0;
  while (value >= 999.5 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

nlohmann::json ToDocument(const Cost& cost) {
  return {{"flops", cost.flops()},         {"multiply_adds", cost.multiply_adds},
          {"wholes8", cost.wholes8},       {"reals8", cost.reals8},
          {"arithmetic", cost.arithmetic}, {"transcendental", cost.transcendental},
          {"bytes_read", cost.bytes_read}, {"bytes_written", cost.bytes_written}};
}

nlohmann::json ToDocument(const Bound& bound) {
  if (bound.us <= 0) return nullptr;
  return {{"us", bound.us},
          {"sure_us", bound.sure_us},
          {"least_us", bound.least_us},
          {"bytes", bound.bytes},
          {"flops", bound.flops},
          {"bytes_us", bound.bytes_us},
          {"flops_us", bound.flops_us},
          {"limited_by", bound.limited_by},
          {"ceilings", bound.datasheet ? "datasheet" : "measured"},
          {"why", bound.why}};
}

}  // namespace hone
