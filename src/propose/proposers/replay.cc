// Proposes what a file says: rounds that were recorded, or written by hand. A line is a round:
//
//   {"proposals": [{"kind": "program", "text": "..."}]}
//   {"from": "SHA-256 of a candidate", "proposals": [{"kind": "module", "text": "...", "origin": "...", "key": "..."}]}
//
//   {"problem": "a graph's name", "proposals": [...]}
//
// `problem` says whose round it is, so that a file of many runs' serves a suite; without one it is everybody's. `from`
// is Candidate::Identity of what they improve on, none for what to begin with; several lines of one are its turns in
// their order. It is a candidate and not an attempt's number, so that a record serves other strategies and seeds than
// the one that it was made with. `hone show RUN --rounds` writes such a file.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "propose/proposer.h"

namespace hone::proposer_replay {
namespace {

using Json = nlohmann::json;

constexpr Parameter kParameters[] = {{.name = "file",
                                      .type = Parameter::Type::kFile,
                                      .help = "rounds as JSON lines, as `hone show RUN --rounds` prints"}};

// The turns of each parent, by identity; "" = what to begin with.
using Recorded = std::map<std::string, std::vector<Round>, std::less<>>;

class Replay final : public Proposer {
 public:
  explicit Replay(Recorded recorded) : recorded_(std::move(recorded)) {}

  Result<Round> Propose(const Question& question) override {
    const Attempt* from = question.from();
    const auto found = recorded_.find(from ? from->proposal.candidate.Identity() : std::string());
    const auto turn = static_cast<std::size_t>(question.number());
    if (found == recorded_.end() || turn >= found->second.size()) return Round();
    return found->second[turn];
  }

 private:
  const Recorded recorded_;
};

Result<Proposal> ReadProposal(const Json& json, std::size_t place) {
  Proposal proposal;
  proposal.candidate.text = json.at("text");
  const std::string kind = json.value("kind", std::string("program"));
  const std::optional<CandidateKind> known = ParseCandidateKind(kind);
  if (!known) return Fail(ErrorKind::kUsage, fmt::format("there is no kind of candidate '{}'", kind));
  proposal.candidate.kind = *known;
  proposal.origin = json.value("origin", std::string("replay"));
  proposal.key = json.value("key", fmt::format("{}", place));
  proposal.predicted_us = json.value("predicted_us", 0.0);
  proposal.rule = json.value("rule", std::string());
  proposal.promised = json.value("promised", 0.0);
  return proposal;
}

Result<void> ReadLine(std::string_view line, std::string_view problem, Recorded& recorded) try {
  const Json json = Json::parse(line);
  Round round;
  for (const Json& one : json.at("proposals"))
    round.proposals.push_back(HONE_TRY(ReadProposal(one, round.proposals.size())));
  if (json.contains("problem") && json["problem"].get<std::string>() != problem) return {};
  const bool begins = !json.contains("from") || json["from"].is_null();
  recorded[begins ? std::string() : json["from"].get<std::string>()].push_back(std::move(round));
  return {};
} catch (const Json::exception& error) {
  return Fail(ErrorKind::kUsage, error.what());
}

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  Recorded recorded;
  std::string_view rest = setting.parameters.File("file");
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    if (Result<void> read = ReadLine(line, setting.graph.problem().name, recorded); !read)
      return Rethrow(std::move(read).error(),
                     fmt::format("proposer replay: line {} of the file is no round: ", number));
  }
  if (!recorded.contains("")) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("proposer replay: no line of the file says what to begin with; one without \"from\" does, if "
                    "its \"problem\" is '{}' or it has none",
                    setting.graph.problem().name));
  }
  return std::make_unique<Replay>(std::move(recorded));
}

}  // namespace

HONE_ROW(ProposerRow){.name = "replay",
                      .doc = "what a file says, which was recorded or written by hand",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::proposer_replay
