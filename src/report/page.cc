#include "report/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/markup.h"
#include "base/sha256.h"
#include "report/attempt_row.h"

namespace hone {

extern const std::string_view kPageFrame, kPageStyle, kPageScript;  // the files of report/page/

namespace {

using Json = nlohmann::json;

// JSON that may stand in a <script>: a '<' is in strings alone, and there \u003c is the same.
std::string Embedded(const Json& json) {
  std::string out;
  for (const char c : JsonText(json)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// As a content security policy names a text that it allows.
std::string PolicyHash(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = Sha256(text);
  std::string base64;
  for (std::size_t at = 0; at < hex.size(); at += 3) {  // three hex digits are two of base64; 64 leave one over
    const std::string three = (hex.substr(at, 3) + "00").substr(0, 3);
    const unsigned long bits = std::stoul(three, nullptr, 16);
    base64 += kDigits[bits >> 6];
    if (at + 1 < hex.size()) base64 += kDigits[bits & 63];
  }
  return fmt::format("'sha256-{}='", base64);
}

// The frame's text with what it names as @word@ in its place; what is put there is not looked at again.
std::string Filled(std::string_view frame, const std::map<std::string_view, std::string>& parts) {
  std::string out;
  while (!frame.empty()) {
    const std::size_t begin = frame.find('@');
    const std::size_t end = begin == std::string_view::npos ? begin : frame.find('@', begin + 1);
    const auto part =
        end == std::string_view::npos ? parts.end() : parts.find(frame.substr(begin + 1, end - begin - 1));
    if (part == parts.end()) {
      const std::size_t taken = begin == std::string_view::npos ? frame.size() : begin + 1;
      out += frame.substr(0, taken);
      frame.remove_prefix(taken);
      continue;
    }
    out += frame.substr(0, begin);
    out += part->second;
    frame.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::vector<const AttemptRecord*> WayToTheBest(const RunMaterial& material) {
  std::vector<const AttemptRecord*> way;
  for (int number = material.run.best_attempt; number > 0;) {
    const AttemptRecord& attempt = material.attempts[static_cast<std::size_t>(number) - 1];
    way.insert(way.begin(), &attempt);
    number = attempt.parent;  // which the store has smaller than its child
  }
  return way;
}

std::string WritePage(const Json& document) {
  const std::string policy = fmt::format(
      "default-src 'none'; base-uri 'none'; form-action 'none'; script-src {}; style-src {}{}", PolicyHash(kPageScript),
      PolicyHash(kPageStyle), document.contains("live") ? "; connect-src 'self'" : "");
  return Filled(kPageFrame, {{"title", MarkupText(document.value("title", ""))},
                             {"policy", MarkupText(policy)},
                             {"style", std::string(kPageStyle)},
                             {"script", std::string(kPageScript)},
                             {"data", Embedded(document)}});
}

std::string WritePage(const RunMaterial& material) { return WritePage(DocumentOf(material)); }

Json DocumentOf(const RunMaterial& material) {
  Json attempts = Json::array();
  for (std::size_t i = 0; i < material.attempts.size(); ++i) {
    Json& row = attempts.emplace_back(AttemptRow(material.attempts[i], material.evaluations[i]));
    row.erase("identity");  // of no use to a reader
  }
  Json sections = Json::array();
  for (const PageSection* section : AllPageSections()) {
    Json data = section->data(material);
    if (data.is_null()) continue;
    sections.push_back({{"id", section->name}, {"title", section->title}, {"data", std::move(data)}});
  }
  const RunRecord& run = material.run;
  Json baselines = Json::parse(run.baselines, nullptr, false);
  return {{"title", fmt::format("{}: run {}", run.problem_name, run.id)},
          {"heading", run.problem_name},
          {"run", run.id},
          {"target", run.target},
          {"state", material.state},
          {"stop_reason", run.stop_reason},
          {"best", run.best_attempt},
          {"bound_us", run.bound_us},
          {"created_ms", run.created_ms},
          {"updated_ms", run.updated_ms},
          {"baselines", baselines.is_object() ? std::move(baselines) : Json::object()},
          {"made_by", material.made_by},
          {"attempts", std::move(attempts)},
          {"sections", std::move(sections)}};
}

}  // namespace hone
