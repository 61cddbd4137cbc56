#include "candidate/candidate.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "base/files.h"
#include "base/sha256.h"
#include "candidate/launch_lines.h"

namespace hone {

std::string_view Name(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kProgram: return "program";
    case CandidateKind::kModule: return "module";
    case CandidateKind::kPlan: return "plan";
    case CandidateKind::kCudaModule: return "cuda_module";
  }
  HONE_CHECK(false, "a candidate has a kind");
  return "";
}

std::optional<CandidateKind> ParseCandidateKind(std::string_view name) {
  for (const CandidateKind kind :
       {CandidateKind::kProgram, CandidateKind::kModule, CandidateKind::kPlan, CandidateKind::kCudaModule}) {
    if (name == Name(kind)) return kind;
  }
  return std::nullopt;
}

std::string Candidate::Identity() const { return Sha256(fmt::format("{}\n{}", Name(kind), text)); }

Result<Candidate> LoadCandidate(const std::string& path) {
  const auto suffix = std::filesystem::path(path).extension().string();
  Candidate candidate;
  if (suffix == ".hk") {
    candidate.kind = CandidateKind::kProgram;
  } else if (suffix == ".cc" || suffix == ".cpp" || suffix == ".cxx") {
    candidate.kind = CandidateKind::kModule;
  } else if (suffix == ".cu") {
    candidate.kind = CandidateKind::kCudaModule;
  } else if (suffix == ".json") {
    candidate.kind = CandidateKind::kPlan;
  } else {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("{}: a candidate is a program (.hk), a module of C++ (.cc, .cpp or .cxx) or CUDA C++ (.cu), or a "
                    "plan (.json)",
                    path));
  }
  candidate.text = HONE_TRY(ReadFile(path));
  if (candidate.kind == CandidateKind::kCudaModule && HasLaunchLines(candidate.text))
    candidate.kind = CandidateKind::kPlan;
  return candidate;
}

}  // namespace hone
