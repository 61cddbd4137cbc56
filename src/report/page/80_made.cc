// How the run was made and what it cost, on what, and the command that makes it again.
#include <nlohmann/json.hpp>

#include "report/page.h"

namespace hone::page_section_80_made {
namespace {

using Json = nlohmann::json;

Json Data(const RunMaterial& material) {
  Json environment = Json::array();
  for (const auto& [name, value] : material.environment) environment.push_back({name, value});
  double seconds = 0, joules = 0;
  for (const AttemptRecord& attempt : material.attempts)
    if (attempt.ended()) seconds += static_cast<double>(attempt.ended_ms - attempt.started_ms) / 1000;
  for (const Evaluation& evaluation : material.evaluations) joules += evaluation.how->joules.value_or(0);
  return {{"command", material.command},
          {"environment", std::move(environment)},
          {"note", material.run.note},
          {"problem_identity", material.run.problem_identity},
          {"ledger",
           {{"attempts", material.summary.attempts},
            {"accepted", material.summary.accepted},
            {"seconds", seconds},
            {"joules", joules},
            {"rounds", material.rounds.size()},
            {"confirmations", material.confirmations.size()},
            {"input_tokens", material.summary.input_tokens},
            {"output_tokens", material.summary.output_tokens},
            {"dollars", material.summary.dollars}}}};
}

}  // namespace

HONE_ROW(PageSection){.name = "made", .title = "How it was made", .data = Data};

}  // namespace hone::page_section_80_made
