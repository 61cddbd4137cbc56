// All attempts as a table.
#include <nlohmann/json.hpp>

#include "report/page.h"

namespace hone {
namespace {

nlohmann::json Data(const RunMaterial& material) {
  if (material.attempts.empty()) return {};
  return nlohmann::json::object();
}

}  // namespace

HONE_PAGE_SECTION(90_attempts){.name = "attempts", .title = "All attempts", .data = Data};

}  // namespace hone
