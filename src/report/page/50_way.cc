// What changed from the start to the best, attempt by attempt.
#include <nlohmann/json.hpp>

#include "report/line_diff.h"
#include "report/page.h"

namespace hone::page_section_50_way {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 600'000;  // of all changes

Json Data(const RunMaterial& material) {
  const std::vector<const AttemptRecord*> way = WayToTheBest(material);
  if (way.empty()) return {};
  Json steps = Json::array();
  std::size_t bytes = 0;
  std::string_view before;
  for (const AttemptRecord* attempt : way) {
    const auto text = material.texts.find(attempt->source_blob);
    const std::string_view after = text == material.texts.end() ? std::string_view() : std::string_view(text->second);
    Json lines = Json::array();
    for (const DiffLine& line : DiffOf(before, after)) {
      lines.push_back(line.kind + std::string(line.text));
      bytes += line.text.size() + 4;
    }
    // What is beyond the budget is in the store.
    steps.push_back({{"attempt", attempt->number}, {"lines", bytes > kMostBytes ? Json() : std::move(lines)}});
    before = after;
  }
  return {{"steps", std::move(steps)}};
}

}  // namespace

HONE_ROW(PageSection){.name = "way", .title = "The way to the best", .data = Data};

}  // namespace hone::page_section_50_way
