#include "propose/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "candidate/launch_lines.h"
#include "dsl/program.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kIdea = "idea:", kPredicted = "predicted_us:";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// The backticks that a line begins with, if they open or close a fence.
std::size_t Ticks(std::string_view line) {
  const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
  return ticks >= 3 ? ticks : 0;
}

// Whatever is not UTF-8 is mended in JSON.
bool IsUtf8(std::string_view text) {
  const Json json = std::string(text);
  return Json::parse(JsonText(json)) == json;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool Next(std::string_view& line) {
    if (rest_.empty()) return false;
    line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }
  int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

class Reader {
 public:
  Reader(std::string_view answer, std::string_view who) : lines_(answer), who_(who) {}

  Result<std::vector<Proposal>> Read() {
    std::string_view line;
    while (lines_.Next(line)) {
      const std::string_view words = Trimmed(line);
      if (words.empty()) continue;
      if (words.starts_with(kIdea)) {
        HONE_TRY(TakeIdea(Trimmed(words.substr(kIdea.size()))));
      } else if (words.starts_with(kPredicted)) {
        HONE_TRY(TakePrediction(Trimmed(words.substr(kPredicted.size()))));
      } else if (Ticks(line) > 0) {
        HONE_TRY(TakeCandidate(line));
      } else {
        return Bad(fmt::format("'{}' is neither \"idea: ...\", \"predicted_us: ...\" nor a fence; leave out all else",
                               words.substr(0, 40)));
      }
    }
    if (!idea_.empty()) return Bad("the last idea has no candidate behind it");
    if (proposals_.empty()) return Bad("there is no candidate; an answer without any is the word done alone");
    return std::move(proposals_);
  }

 private:
  tl::unexpected<Error> Bad(std::string_view what) const {
    return Fail(ErrorKind::kUsage, fmt::format("line {} of the answer: {}", lines_.number(), what));
  }

  Result<void> TakeIdea(std::string_view idea) {
    if (!idea_.empty()) return Bad("a second idea before the candidate of the first");
    if (idea.empty() || idea.size() > kLongestIdea) return Bad(fmt::format("an idea has 1 to {} bytes", kLongestIdea));
    idea_ = idea;
    return {};
  }

  Result<void> TakePrediction(std::string_view number) {
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), predicted_us_);
    if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(predicted_us_) ||
        predicted_us_ <= 0)
      return Bad(fmt::format("predicted_us is a time in microseconds, not '{}'", number.substr(0, 40)));
    return {};
  }

  Result<void> TakeCandidate(std::string_view opening) {
    const std::size_t ticks = Ticks(opening);
    const std::string_view name = Trimmed(opening.substr(ticks));
    const auto kind = ParseCandidateKind(name);
    if (!kind)
      return Bad(fmt::format("a fence is of a program, module, plan or cuda_module, not of '{}'", name.substr(0, 40)));
    if (idea_.empty()) return Bad("a candidate needs a line \"idea: ...\" before it");
    if (proposals_.size() == kMostCandidates)
      return Bad(fmt::format("an answer has at most {} candidates", kMostCandidates));
    const int begun = lines_.number();
    std::string text;
    std::string_view line;
    while (lines_.Next(line)) {
      if (Ticks(line) >= ticks && Trimmed(line.substr(Ticks(line))).empty()) {
        if (Trimmed(text).empty()) return Bad("the candidate is empty");
        // As a file with launch lines is, whatever its fence says.
        const bool launches = *kind == CandidateKind::kCudaModule && HasLaunchLines(text);
        return Keep({.kind = launches ? CandidateKind::kPlan : *kind, .text = std::move(text)});
      }
      text += fmt::format("{}\n", line);
    }
    return Bad(fmt::format("the fence of line {} is not closed", begun));
  }

  Result<void> Keep(Candidate candidate) {
    if (!keys_.insert(idea_).second) return Bad("two candidates have the same idea");
    proposals_.push_back({.candidate = std::move(candidate),
                          .origin = fmt::format("{}: {}", who_, idea_),
                          .key = idea_,
                          .predicted_us = predicted_us_});
    idea_.clear();
    predicted_us_ = 0;
    return {};
  }

  Lines lines_;
  const std::string_view who_;
  std::string idea_;
  double predicted_us_ = 0;
  std::vector<Proposal> proposals_;
  std::set<std::string> keys_;
};

// C++ without comments, and with one space wherever there was any, texts in quotes as they are. Lines of the
// preprocessor keep their ends.
std::string WithoutComments(std::string_view text) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == quote || c == '\n') quote = 0;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 1;
      out += ' ';
    } else {
      if (c == '"' || c == '\'') quote = c;
      out += c;
    }
  }
  return out;
}

std::string OneSpace(std::string_view text) {
  std::string out;
  Lines lines(text);
  std::string_view line;
  while (lines.Next(line)) {
    line = Trimmed(line);
    if (line.empty()) continue;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool space = std::isspace(static_cast<unsigned char>(line[i])) != 0;
      if (!space) out += line[i];
      if (space && out.back() != ' ') out += ' ';
    }
    out += '\n';
  }
  return out;
}

}  // namespace

Result<std::vector<Proposal>> ParseAnswer(std::string_view answer, std::string_view who) {
  if (answer.size() > kLongestAnswer)
    return Fail(ErrorKind::kUsage,
                fmt::format("the answer has {} bytes, {} are the most", answer.size(), kLongestAnswer));
  if (answer.find('\0') != answer.npos || !IsUtf8(answer))
    return Fail(ErrorKind::kUsage, "the answer is not text in UTF-8");
  if (Trimmed(answer) == kNothingMore) return std::vector<Proposal>();
  return Reader(answer, who).Read();
}

std::string AnswerForm() {
  return fmt::format(R"(For each candidate, most promising first, at most {}: a line "idea: " with what is changed and
why, in one line of at most {} bytes; if you can, a line "predicted_us: " with the time that you expect in microseconds;
then the whole text in a fence that says its kind:

idea: two columns a thread, so that loads are 8 bytes wide
predicted_us: 12.5
```program
program ...
```

Kinds: program (the kernel language), module (C++ for the processor), cuda_module (CUDA C++ with host code), plan (CUDA
C++ without host code, whose launches stand in comments, or JSON). Where the text has a line of three backticks, fence it with four. Nothing else stands in an answer.
If there is nothing worth trying, the answer is the word {} alone.
)",
                     kMostCandidates, kLongestIdea, kNothingMore);
}

std::string Normalised(const Candidate& candidate) {
  std::string text;
  if (candidate.kind == CandidateKind::kProgram) {
    const auto parsed = dsl::Parse(candidate.text);
    const auto* program = std::get_if<dsl::Program>(&parsed);
    text = program ? dsl::Print(*program) : OneSpace(candidate.text);
  } else if (candidate.kind == CandidateKind::kPlan) {
    const Json json = Json::parse(candidate.text, nullptr, false);
    text = json.is_discarded() ? OneSpace(candidate.text) : JsonText(json);
  } else {
    text = OneSpace(WithoutComments(candidate.text));
  }
  return fmt::format("{}\n{}", Name(candidate.kind), text);
}

void DropRepeats(std::vector<Proposal>& proposals, const Question& question) {
  std::set<std::string> known;
  for (const Attempt* attempt : question.history) known.insert(Normalised(attempt->proposal.candidate));
  std::erase_if(proposals, [&](const Proposal& one) { return !known.insert(Normalised(one.candidate)).second; });
}

}  // namespace hone
