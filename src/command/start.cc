#include "command/start.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/evaluation_text.h"
#include "command/outcome_text.h"
#include "search/start.h"

namespace hone {

Result<Proposal> LoadStart(const std::string& path, bool cuda) {
  if (path.ends_with(".py")) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--start {0}: Triton and other Python cannot be a candidate, only a program (.hk), C++ "
                            "(.cc), CUDA C++ (.cu) or a plan (.json) can; --baseline {0} makes it the one to beat, as "
                            "a PyTorch module",
                            path));
  }
  auto loaded = LoadCandidate(path);
  if (!loaded) return Rethrow(std::move(loaded).error(), "--start ");
  const CandidateKind kind = loaded->kind;
  const bool device = kind == CandidateKind::kPlan || kind == CandidateKind::kCudaModule;
  if (kind != CandidateKind::kProgram && device != cuda) {
    return Fail(ErrorKind::kUsage,
                device ? fmt::format("--start {}: it runs on a CUDA device; add --target cuda", path)
                       : fmt::format("--start {}: it runs on the processor; use --target cpu, or a .cu kernel", path));
  }
  return StartProposal(*std::move(loaded), std::filesystem::path(path).filename().string());
}

std::string StartNote(const Attempt& start) {
  const Verdict& verdict = start.evaluation.verdict;
  if (!verdict.accepted()) {
    return fmt::format("{} is refused, {}: {}; the run goes on from the proposer's own beginnings",
                       start.proposal.origin, Name(verdict.outcome), verdict.reason);
  }
  std::string line = fmt::format("{} is right", start.proposal.origin);
  if (start.time_us() > 0) line += fmt::format(" and takes {}", Microseconds(start.time_us()));
  if (start.insight->findings.empty()) return line;
  const Finding& first = start.insight->findings.front();
  return line + fmt::format("; {}: {}", first.title, first.evidence);
}

std::string StartText(const SearchOutcome& outcome) {
  const auto against = CompareWithStart(outcome);
  if (!against) return "";
  const Verdict& verdict = outcome.tree.node(1).attempt.evaluation.verdict;
  if (!verdict.accepted())
    return fmt::format("  start    your kernel is refused, {}: {}\n", Name(verdict.outcome), verdict.reason);
  const std::string when = against->again ? "measured again beside it" : "as measured in the search";
  if (!against->speedup) return "  start    your kernel was not timed, so there is no speed-up over it\n";
  const std::string there = fmt::format("at {}, {}", Microseconds(against->start_us), when);
  if (outcome.run.best_attempt == 1) return fmt::format("  start    nothing beats your kernel {}\n", there);
  return fmt::format("  start    {} {}{}\n", SpeedWords(*against->speedup, "your kernel"), there,
                     against->faster ? "" : "; that may be chance");
}

nlohmann::json StartDocument(const SearchOutcome& outcome) {
  const auto against = CompareWithStart(outcome);
  if (!against) return nullptr;
  const Verdict& verdict = outcome.tree.node(1).attempt.evaluation.verdict;
  nlohmann::json document = {{"origin", outcome.tree.node(1).attempt.proposal.origin},
                             {"outcome", Name(verdict.outcome)},
                             {"start_us", against->start_us},
                             {"best_us", against->best_us},
                             {"confirmed", against->again},
                             {"faster", against->faster}};
  if (!verdict.accepted()) document["reason"] = verdict.reason;
  if (against->speedup) document["speedup"] = *against->speedup;
  return document;
}

}  // namespace hone
