// The tree of attempts, and what is known of each: findings, evidence, source, log. Of a large run that would be a
// large page, so details have a budget: the way to the best first, then the fastest, then the others. A source is kept
// as it differs from another one of the page.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "report/line_diff.h"
#include "report/page.h"

namespace hone::page_section_30_tree {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDetailBytes = 2'600'000;  // 2,000 attempts then make less than 5 MB
constexpr std::size_t kLogBytes = 4'000;         // of a log, of which more is in the store

// Texts that many attempts share, by their places in a list.
class Pool {
 public:
  std::size_t Put(const std::string& text) {
    const auto [at, fresh] = places_.try_emplace(text, list_.size());
    if (fresh) list_.push_back(text);
    return at->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> places_;
  Json list_ = Json::array();
};

class Details {
 public:
  explicit Details(const RunMaterial& material) : material_(material), kept_(material.attempts.size(), false) {}

  // The attempt and all that it came from, as far as the budget goes.
  void Keep(const AttemptRecord& attempt) {
    std::vector<const AttemptRecord*> chain;
    for (const AttemptRecord* one = &attempt; one && !kept_[Place(*one)]; one = Parent(*one)) chain.push_back(one);
    for (; !chain.empty(); chain.pop_back()) {
      Json detail = Of(*chain.back());
      const std::size_t bytes = JsonText(detail).size() + 10;
      if (spent_ + bytes > kDetailBytes) return;
      spent_ += bytes;
      kept_[Place(*chain.back())] = true;
      last_ = chain.back();
      details_[std::to_string(chain.back()->number)] = std::move(detail);
    }
  }

  Json Data() {
    const auto left_out = std::count(kept_.begin(), kept_.end(), false);
    return {{"details", std::move(details_)}, {"words", pool_.list()}, {"left_out", left_out}};
  }

 private:
  static std::size_t Place(const AttemptRecord& attempt) { return static_cast<std::size_t>(attempt.number) - 1; }
  const AttemptRecord* Parent(const AttemptRecord& attempt) const {
    return attempt.parent == 0 ? nullptr : &material_.attempts[static_cast<std::size_t>(attempt.parent) - 1];
  }
  std::string_view Text(const std::string& key) const {
    const auto found = material_.texts.find(key);
    return found == material_.texts.end() ? std::string_view() : std::string_view(found->second);
  }

  // As it differs from its parent's, or from the one kept before: {"like": an attempt, "edits": lines to take from that
  // one's (n), to pass over (-n), and new ones (texts)}. Without "like" all lines are new.
  Json SourceOf(const AttemptRecord& attempt) const {
    const AttemptRecord* like = Parent(attempt) ? Parent(attempt) : last_;
    const std::string_view before = like ? Text(like->source_blob) : std::string_view();
    const std::string_view after = Text(attempt.source_blob);
    Json edits = Json::array();
    const auto step = [&](std::int64_t lines) {
      if (!edits.empty() && edits.back().is_number() && (edits.back().get<std::int64_t>() > 0) == (lines > 0)) {
        edits.back() = edits.back().get<std::int64_t>() + lines;
      } else {
        edits.push_back(lines);
      }
    };
    for (const DiffLine& line : DiffOf(before, after, kAllLines)) {
      if (line.kind == '+') {
        edits.push_back(line.text);
      } else {
        step(line.kind == ' ' ? 1 : -1);
      }
    }
    if (edits.empty() && before == after) step(static_cast<std::int64_t>(SplitLines(after).size()));
    Json source = {{"edits", std::move(edits)}};
    if (like) source["like"] = like->number;
    return source;
  }

  Json FindingsOf(const AttemptRecord& attempt) {
    Json out = Json::array();
    const Json findings = Json::parse(attempt.findings, nullptr, false);
    if (!findings.is_array()) return out;
    for (const Json& finding : findings) {
      if (!finding.is_object()) continue;
      Json& one = out.emplace_back();
      for (const char* shared : {"title", "rule", "advice", "subject"})
        one[shared] = pool_.Put(finding.value(shared, ""));
      one["evidence"] = finding.value("evidence", "");
      one["lost"] = finding.value("lost", 0.0);
    }
    return out;
  }

  Json Of(const AttemptRecord& attempt) {
    Json detail = {{"source", SourceOf(attempt)}};
    const auto put = [&](const char* name, Json value) {
      if (!value.empty()) detail[name] = std::move(value);
    };
    put("findings", FindingsOf(attempt));
    const Json limits = Json::parse(attempt.limits, nullptr, false);
    if (limits.is_object() && !limits.empty()) put("limits", limits);
    const Evaluation& evaluation = material_.evaluations[Place(attempt)];
    if (!evaluation.verdict.accepted() && attempt.ended())
      put("evidence", ToJson(evaluation).value("evidence", Json()));
    const std::string_view log = Text(attempt.log_blob);
    if (log.empty()) return detail;
    detail["log"] = log.substr(0, kLogBytes);
    if (log.size() > kLogBytes) detail["log_bytes"] = log.size();
    return detail;
  }

  const RunMaterial& material_;
  std::vector<bool> kept_;  // by place
  const AttemptRecord* last_ = nullptr;
  std::size_t spent_ = 0;
  Pool pool_;
  Json details_ = Json::object();
};

Json Data(const RunMaterial& material) {
  if (material.attempts.empty()) return {};
  Details details(material);
  Json way = Json::array();
  for (const AttemptRecord* attempt : WayToTheBest(material)) {
    details.Keep(*attempt);
    way.push_back(attempt->number);
  }
  std::vector<const AttemptRecord*> rest;
  for (const AttemptRecord& attempt : material.attempts) rest.push_back(&attempt);
  std::stable_sort(rest.begin(), rest.end(), [](const AttemptRecord* a, const AttemptRecord* b) {
    const auto rank = [](const AttemptRecord& one) { return one.median_us > 0 ? one.median_us : 1e300; };
    return rank(*a) < rank(*b);
  });
  for (const AttemptRecord* attempt : rest) details.Keep(*attempt);
  Json data = details.Data();
  data["way"] = std::move(way);
  return data;
}

}  // namespace

HONE_ROW(PageSection){.name = "tree", .title = "The tree of attempts", .data = Data};

}  // namespace hone::page_section_30_tree
