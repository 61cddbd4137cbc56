// CUDA C++ to a cubin, through NVRTC, behind the content-addressed cache. No GPU and no driver needed. Safe from any
// thread: NVRTC compiles side by side.
//
// Ours is compiled in this process. A few lines of foreign source can keep a compiler busy for hours and fill a
// machine's memory, and #include reads any file: it is compiled by a process of its own, under limits and, where that
// works, in bubblewrap.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone::cuda {

struct CubinRequest {
  std::string source;                       // device code; the toolkit's headers are found
  std::string name = "kernel.cu";           // for messages and __FILE__
  std::string arch;                         // a real architecture: "sm_90a"
  std::vector<std::string> instances;       // name expressions of templates to be compiled: "scale<float, 4>"
  std::vector<std::string> flags;           // after the standard ones
  std::string program;                      // of ours, whose verb `nvrtc` compiles foreign source; empty: it is ours
  std::chrono::milliseconds wall{120'000};  // of foreign source
};

struct CubinError {
  int line = 0;  // of the source; 0 = without a place
  std::string message;
};

struct CompiledCubin {
  std::string cubin;                 // the ELF image; empty when the source does not compile
  std::vector<std::string> symbols;  // one an instance: its kernel's name in the cubin
  std::vector<CubinError> errors;    // the first is the one to show
  std::string log;                   // all that NVRTC said, ptxas's remarks included
  bool cached = false;
  double milliseconds = 0;
  bool ok() const { return !cubin.empty(); }
};

// Source at which the compiler does not come to an end, crashes or runs out of memory has that as its error. Fails with
// kNotFound without NVRTC (the message names the mend), kIo when the cache cannot be written, kTool when NVRTC fails.
Result<CompiledCubin> CompileCubin(const CubinRequest& request);

// That process: one request on standard input, one answer on standard output. 0, or 1 when it was asked nothing it
// knows.
int NvrtcMain();

// "NVRTC 13.0", for doctor and cache keys.
Result<std::string> NvrtcVersion();

}  // namespace hone::cuda
