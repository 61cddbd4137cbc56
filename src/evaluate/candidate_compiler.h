// A candidate as what a worker loads: an object in the build cache, or the verdict of what does not get that far.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "base/result.h"
#include "candidate/candidate.h"
#include "problem/problem.h"
#include "protocol/protocol.h"
#include "target/module_build.h"
#include "verdict/verdict.h"

namespace hone {

// A program of the kernel language as the module or the plan that it becomes, or the verdict that it makes where it
// stands (kInvalid with line and column). Fails when the world does.
using Lowering = std::function<Result<std::variant<Candidate, Verdict>>(const Candidate&)>;

struct CompiledCandidate {
  Form form = Form::kModule;
  std::string file;  // path, or empty: it does not get that far
};

// All arguments outlive it. `lower`: without it programs are refused with kUsage. `device`: UUID of the one that is
// compiled for, empty for the first. `program`: ours, with the verb "nvrtc".
class CandidateCompiler {
 public:
  CandidateCompiler(const Problem& problem, const Lowering& lower, const std::string& device,
                    const std::string& program)
      : problem_(problem), lower_(lower), device_(device), program_(program) {}

  // From the build cache or into it; the verdict is filled in when it goes wrong, and what is said of stages. Any
  // number of threads may do so. Fails when the world does, with kNotFound also where all that is missing is a device.
  Result<CompiledCandidate> Compile(const Candidate& candidate, Evaluation& evaluation) const;

 private:
  Result<Compiled> CompileModuleFor(Form form, const std::string& source) const;
  Result<std::string> Build(Form form, const std::string& source, bool ours, Evaluation& evaluation) const;
  Result<std::string> BuildDevice(const Candidate& candidate, Evaluation& evaluation) const;

  const Problem& problem_;
  const Lowering& lower_;
  const std::string& device_;
  const std::string& program_;
};

}  // namespace hone
