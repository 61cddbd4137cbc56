// Python interpreters that can import torch. Python is found, never demanded: problems in JSON need none.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace hone {

struct PythonTorch {
  std::string path;            // of the interpreter
  std::string python_version;  // "3.11.2"
  std::string torch_version;   // "2.13.0+cpu", as torch says it
};

// What `python` (a path, or a name in PATH) is and which torch it would import; nothing if it has none. Some 50 ms:
// torch itself is not loaded.
std::optional<PythonTorch> ProbePython(const std::string& python);

// $HONE_PYTHON if it is set, and then nothing else; otherwise python3 in PATH, then /usr/bin/python3. Looks anew every
// time. kNotFound with what was tried and what to do.
Result<PythonTorch> FindPython();

}  // namespace hone
