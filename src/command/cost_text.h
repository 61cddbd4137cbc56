// Costs and bounds as documents and in words, for the verbs that show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/cost.h"
#include "target/bound.h"

namespace hone {

std::string CountText(double value);  // 1234567 -> "1.23 M"

// flops (multiply-adds count 2), multiply_adds, wholes8 and reals8 (of these), arithmetic, transcendental, bytes_read,
// bytes_written.
nlohmann::json ToDocument(const Cost& cost);
// us, sure_us, least_us, bytes, flops, bytes_us, flops_us, limited_by, ceilings ("datasheet", "measured"), why; null
// where there is no bound.
nlohmann::json ToDocument(const Bound& bound);

}  // namespace hone
