// CUDA C++ to a cubin, in this process, through NVRTC, behind the content-addressed cache. No GPU and no driver needed.
// Safe from any thread: NVRTC compiles side by side.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::cuda {

struct CubinRequest {
  std::string source;                  // device code; the toolkit's headers and <hone/...> are found
  std::string name = "kernel.cu";      // for messages and __FILE__
  std::string arch = "sm_90a";         // a real architecture
  std::vector<std::string> instances;  // name expressions of templates to be compiled: "scale<float, 4>"
  std::vector<std::string> flags;      // after the standard ones
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

// Fails with kNotFound without NVRTC (the message names the mend), kIo when the cache cannot be written.
Result<CompiledCubin> CompileCubin(const CubinRequest& request);

// "NVRTC 13.0", for doctor and cache keys.
Result<std::string> NvrtcVersion();

}  // namespace hone::cuda
