// The host compiler behind a content-addressed cache: the same source, flags, compiler and machine are the same shared
// object. Thread- and process-safe: an entry appears whole or not at all, and two who want the same one do not disturb
// each other.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

struct CompileRequest {
  std::string source;              // C++20; may include <hone/module.h>
  std::vector<std::string> flags;  // after the standard ones
  bool trusted = false;            // ours (oracle): compiled outside of the sandbox
  std::chrono::milliseconds wall{120'000};
};

struct Diagnostic {
  int line = 0, column = 0;  // of CompileRequest::source
  std::string message;       // "expected ';' before '}' token"
};

struct Compiled {
  std::string library;             // path of the shared object; empty when the source does not compile
  std::vector<Diagnostic> errors;  // the first is the one to show
  std::string log;                 // all that the compiler said
  bool cached = false;
  bool timed_out = false;
  double milliseconds = 0;
  bool ok() const { return !library.empty(); }
};

// Fails with kNotFound when there is no compiler, kIo when the cache cannot be written.
Result<Compiled> CompileModule(const CompileRequest& request);

// What every module is compiled with, for those who compile one without us (exports).
enum class CompilerKind { kGcc, kClang };
std::vector<std::string> StandardFlags(CompilerKind kind);

// What the host compiler is, for doctor and cache keys: "g++ 12.2.0"; kNotFound names what to install.
Result<std::string> HostCompilerVersion();

}  // namespace hone
