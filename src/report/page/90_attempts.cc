// All attempts as a table.
#include <nlohmann/json.hpp>

#include "report/page.h"

namespace hone::page_section_90_attempts {
namespace {

nlohmann::json Data(const RunMaterial& material) {
  if (material.attempts.empty()) return {};
  return nlohmann::json::object();
}

}  // namespace

HONE_ROW(PageSection){.name = "attempts", .title = "All attempts", .data = Data};

}  // namespace hone::page_section_90_attempts
