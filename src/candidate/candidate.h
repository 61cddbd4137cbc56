// A Candidate: something that claims to compute a problem. Its text is all there is to it: the same text is the same
// candidate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

enum class CandidateKind : std::uint8_t {
  kProgram,     // the kernel language (.hk)
  kModule,      // C++ behind the C ABI of include/hone/module.h, for a CPU (.cc, .cpp, .cxx)
  kPlan,        // device sources and their launches, for CUDA (.json; docs/plan.md)
  kCudaModule,  // CUDA C++ behind the same ABI: kernels and the host code that launches them (.cu)
};

std::string_view Name(CandidateKind kind);  // "program"
std::optional<CandidateKind> ParseCandidateKind(std::string_view name);

struct Candidate {
  CandidateKind kind = CandidateKind::kProgram;
  std::string text;
  std::string Identity() const;  // SHA-256 of kind and text, in hex
};

// Reads a candidate; its suffix says the kind.
Result<Candidate> LoadCandidate(const std::string& path);

}  // namespace hone
