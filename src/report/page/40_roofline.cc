// What the device could do at best, and where the candidates stand.
#include <nlohmann/json.hpp>

#include "report/page.h"

namespace hone::page_section_40_roofline {
namespace {

// The candidates' times are those of the page's attempts; all of them do the problem's work.
nlohmann::json Data(const RunMaterial& material) {
  if (material.roofline.empty() && material.why_no_roofline.empty()) return {};
  nlohmann::json roofline = nlohmann::json::parse(material.roofline, nullptr, false);
  return {{"roofline", roofline.is_object() ? std::move(roofline) : nlohmann::json()},
          {"why", material.why_no_roofline}};
}

}  // namespace

HONE_ROW(PageSection){.name = "roofline", .title = "Roofline", .data = Data};

}  // namespace hone::page_section_40_roofline
