// One source file of a module to a shared object, by any compiler, in a child that is confined and behind the
// content-addressed cache: the same source, flags, compiler and machine are the same shared object. Thread- and
// process-safe: an entry appears whole or not at all, and two who want the same one do not disturb each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

struct Diagnostic {
  int line = 0, column = 0;  // of the source; 0 = without a place
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

// What compiles, and what it may see. <hone/module.h> is found by every source.
struct ModuleCompiler {
  std::string path;
  std::string identity;            // all that changes when the compiler or what it reads does
  std::string source_name;         // "kernel.cc"
  std::vector<std::string> flags;  // all but the include folder of hone/, the source and -o
  std::vector<std::string> needs;  // folders that it reads beside the system's; seen at the same paths
  std::uint64_t memory_bytes = 0;  // of addresses, for foreign source
  std::chrono::milliseconds wall{120'000};
  bool trusted = false;  // the source is ours: compiled outside of the sandbox
  // The errors in what it says of `file`, in its order, without warnings and notes.
  std::vector<Diagnostic> (*parse)(std::string_view log, std::string_view file) = nullptr;
};

// Fails with kIo when the cache cannot be written, kTool when the sandbox fails. A source at fault is remembered too.
Result<Compiled> BuildModule(const ModuleCompiler& compiler, const std::string& source);

}  // namespace hone
