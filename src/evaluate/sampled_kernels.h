// The kernels of a candidate with their code, source lines and, where its warps were sampled, where those wait.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "profile/candidate_profiles.h"
#include "profile/sampled_facts.h"
#include "protocol/profiled.h"
#include "target/device_model.h"

namespace hone {

struct SampledKernel {
  cuda::KernelFacts kernel;
  std::vector<SampledCode> code;  // an element an instruction
  std::string source, name;       // text that it was compiled from, and what the compiler calls that

  // A line of the source without the blanks around it; empty where the place is in another file.
  std::string LineAt(const cuda::SourcePlace& place) const;
};

// Compiles the kernels again so that their instructions know their lines, which changes none of them. `program`
// compiles foreign source in a process of its own (CubinRequest).
Result<void> CompileWithLines(CandidateProfiles& made, const Candidate& candidate, const Problem& problem,
                              const DeviceModel& device, const std::string& program);

// Each kernel that a run launches once, in the order of the plan, or of the cubin. Samples of others are left out.
std::vector<SampledKernel> SampledKernelsOf(const CandidateProfiles& made, const Candidate& candidate,
                                            const ProfiledReport& report);

// Their samples as facts of the launches; of one kernel that is launched several times all have the same.
void AddSamples(std::vector<Profile>& profiles, std::span<const SampledKernel> kernels);

// SASS as far as it is read, each instruction with its share of the kernel's samples and what it waits for, under the
// source lines that it is of; stretches without samples are left out where there are any samples.
std::string Describe(const SampledKernel& kernel);
// [{"kernel", "samples", "instructions": [{"offset", "name", "line", "samples", "waiting", "reason"}]}]
nlohmann::json ToJson(std::span<const SampledKernel> kernels);

}  // namespace hone
