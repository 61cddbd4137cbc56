// How the search came to it: each attempt's time, and the best so far.
#include <nlohmann/json.hpp>

#include "report/page.h"

namespace hone::page_section_20_progress {
namespace {

// The attempts are in the page for all of its sections.
nlohmann::json Data(const RunMaterial& material) {
  if (material.attempts.empty()) return {};
  const auto& timing = material.proof.timing;
  // Baselines are kept by name; speed-ups are over the first that was asked for.
  return {{"first_baseline", timing && !timing->against.empty() ? timing->against.front().baseline : std::string()}};
}

}  // namespace

HONE_ROW(PageSection){.name = "progress", .title = "The search", .data = Data};

}  // namespace hone::page_section_20_progress
