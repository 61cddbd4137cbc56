#include "candidate/candidate.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "base/files.h"
#include "base/sha256.h"

namespace hone {

std::string_view Name(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kProgram: return "program";
    case CandidateKind::kModule: return "module";
  }
  HONE_CHECK(false, "a candidate has a kind");
  return "";
}

std::string Candidate::Identity() const { return Sha256(fmt::format("{}\n{}", Name(kind), text)); }

Result<Candidate> LoadCandidate(const std::string& path) {
  const auto suffix = std::filesystem::path(path).extension().string();
  Candidate candidate;
  if (suffix == ".hk") {
    candidate.kind = CandidateKind::kProgram;
  } else if (suffix == ".cc" || suffix == ".cpp" || suffix == ".cxx") {
    candidate.kind = CandidateKind::kModule;
  } else {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: a candidate is a program (.hk) or a C++ module (.cc, .cpp or .cxx)", path));
  }
  candidate.text = HONE_TRY(ReadFile(path));
  return candidate;
}

}  // namespace hone
