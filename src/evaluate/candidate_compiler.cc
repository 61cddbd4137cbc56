#include "evaluate/candidate_compiler.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "candidate/launch_lines.h"
#include "target/build_cache.h"
#include "target/cpu/compiler.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/device_calibration.h"
#include "target/cuda/driver.h"
#include "target/cuda/library_steps.h"
#include "target/cuda/nvcc.h"

namespace hone {
namespace {

Form FormOf(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kPlan: return Form::kPlan;
    case CandidateKind::kCudaModule: return Form::kCudaModule;
    case CandidateKind::kProgram:
    case CandidateKind::kModule: return Form::kModule;
  }
  return Form::kModule;
}

}  // namespace

Result<CompiledCandidate> CandidateCompiler::Compile(const Candidate& candidate, Evaluation& evaluation) const {
  Candidate lowered = candidate;
  if (candidate.kind == CandidateKind::kProgram) {
    if (!lower_) return Fail(ErrorKind::kUsage, "this evaluator knows no kernel language");
    auto made = HONE_TRY(lower_(candidate));
    if (auto* verdict = std::get_if<Verdict>(&made)) {
      evaluation.verdict = std::move(*verdict);
      return CompiledCandidate();
    }
    lowered = std::move(std::get<Candidate>(made));
  }
  const bool ours = candidate.kind == CandidateKind::kProgram;
  const Form form = FormOf(lowered.kind);
  auto file =
      HONE_TRY(form == Form::kPlan ? BuildDevice(lowered, evaluation) : Build(form, lowered.text, ours, evaluation));
  return CompiledCandidate{form, std::move(file)};
}

Result<Compiled> CandidateCompiler::CompileModuleFor(Form form, const std::string& source) const {
  if (form != Form::kCudaModule) return CompileModule({.source = source});
  return cuda::CompileCudaModule({.source = source, .arch = cuda::ModelToBuildFor(device_).arch});
}

// The path of the module; empty when the candidate does not get that far, with the verdict filled in. `ours`: made
// of a program, so what is wrong with it is not its author's fault.
Result<std::string> CandidateCompiler::Build(Form form, const std::string& source, bool ours,
                                             Evaluation& evaluation) const {
  const Compiled compiled = HONE_TRY(CompileModuleFor(form, source));
  evaluation.how->stages.compile_cached = compiled.cached;
  if (compiled.ok() && form == Form::kCudaModule) HONE_TRY(cuda::FindDevices());
  if (compiled.ok()) return compiled.library;
  Verdict& verdict = evaluation.verdict;
  verdict.outcome = Outcome::kCompileError;
  verdict.evidence->log = Printable(compiled.log);
  if (compiled.timed_out) {
    verdict.reason = compiled.errors.front().message;
  } else if (!compiled.errors.empty()) {
    const Diagnostic& first = compiled.errors.front();
    if (first.line > 0) verdict.evidence->line = first.line;
    if (first.column > 0) verdict.evidence->column = first.column;
    verdict.evidence->detail = Printable(first.message);
    verdict.reason =
        first.line > 0 ? fmt::format("line {}: {}", first.line, verdict.evidence->detail) : verdict.evidence->detail;
    if (ours) {
      verdict.evidence->line = verdict.evidence->column = std::nullopt;
      verdict.reason = "the C++ that this program becomes does not compile: " + verdict.evidence->detail;
    }
  } else {
    verdict.reason = "the compiler failed: " + Printable(compiled.log.substr(0, 300));
  }
  return std::string();
}

// The path of the built plan; empty when the candidate does not get that far, with the verdict filled in.
Result<std::string> CandidateCompiler::BuildDevice(const Candidate& candidate, Evaluation& evaluation) const {
  Verdict& verdict = evaluation.verdict;
  verdict.outcome = Outcome::kInvalid;
  const auto parsed = ParsePlan(candidate.text, problem_);
  if (const auto* issue = std::get_if<PlanIssue>(&parsed)) {
    verdict.reason = fmt::format("{}: {}", issue->where, issue->message);
    return std::string();
  }
  auto built = HONE_TRY(cuda::BuildPlan(std::get<Plan>(parsed), problem_, cuda::ModelToBuildFor(device_), program_));
  if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&built)) {
    verdict.evidence->log = Printable(refusal->log);
    verdict.evidence->detail = Printable(refusal->message);
    if (refusal->compile_error) verdict.outcome = Outcome::kCompileError;
    if (refusal->line > 0) verdict.evidence->line = refusal->line;
    verdict.reason = refusal->line > 0
                         ? fmt::format("{}, line {}: {}", refusal->where, refusal->line, verdict.evidence->detail)
                         : fmt::format("{}: {}", refusal->where, verdict.evidence->detail);
    return std::string();
  }
  HONE_TRY(cuda::FindDevices());
  auto& plan = std::get<cuda::BuiltPlan>(built);
  plan.libraries = HONE_TRY(cuda::FindLibrariesOf(plan.plan));
  evaluation.how->stages.compile_cached = plan.cached;
  const auto cache = HONE_TRY(BuildCache::Open());
  const std::string packed = cuda::Pack(plan);
  return HONE_TRY(cache.KeepBytes(Sha256(packed), packed, "")).file;
}

}  // namespace hone
