// For tests that import many files and test no process: see tests/warm_python.py.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/mutex.h"
#include "base/process.h"

namespace hone::testing {

// A program that does what the interpreter `python` does, in a process that has imported torch already; not in a
// sandbox. One server for each interpreter, which ends with this process. `python` itself where HONE_SOURCE is not set;
// a server that does not come up fails the test. Thread-safe.
inline std::string WarmPython(const std::string& python) {
  struct Server {
    TempDirectory folder;
    Child child;
  };
  static Mutex lock;
  static std::map<std::string, Server> servers HONE_GUARDED_BY(lock);
  const char* source = std::getenv("HONE_SOURCE");
  if (!source) return python;
  const MutexLock held(lock);
  auto found = servers.find(python);
  if (found == servers.end()) {
    auto folder = TempDirectory::Create("warm");
    if (!folder) return python;
    Command command;
    command.argv = {python, "-I", std::string(source) + "/tests/warm_python.py", folder->path()};
    command.environment = InheritedEnvironment();
    auto child = Child::Start(command);
    if (!child || !child->ReadLine(std::chrono::minutes(2))) {
      ADD_FAILURE() << "tests/warm_python.py does not come up with " << python;
      return python;
    }
    found = servers.emplace(python, Server{std::move(*folder), std::move(*child)}).first;
  }
  return found->second.folder.path() + "/bin/python";
}

}  // namespace hone::testing
