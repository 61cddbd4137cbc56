// The host compiler, for modules on a CPU (target/module_build.h does the rest). Thread- and process-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "target/module_build.h"

namespace hone {

struct CompileRequest {
  std::string source;              // C++20; may include <hone/module.h>
  std::vector<std::string> flags;  // after the standard ones
  bool trusted = false;            // ours (oracle): compiled outside of the sandbox
  std::chrono::milliseconds wall{120'000};
};

// Fails with kNotFound when there is no compiler, kIo when the cache cannot be written.
Result<Compiled> CompileModule(const CompileRequest& request);

// What every module is compiled with, for those who compile one without us (exports).
enum class CompilerKind { kGcc, kClang };
std::vector<std::string> StandardFlags(CompilerKind kind);

// What the host compiler is, for doctor and cache keys: "g++ 12.2.0"; kNotFound names what to install.
Result<std::string> HostCompilerVersion();

}  // namespace hone
