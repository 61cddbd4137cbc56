// A shared library of the CUDA driver or toolkit, opened at run time: hone is built without either and runs with what
// is there.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace hone::cuda {

// Stays open for the life of the process: CUDA's libraries are not made to be closed. Copies share it.
class SharedLibrary {
 public:
  // The first of `paths` (a path, or a name that the loader finds) that can be opened. kNotFound with the loader's last
  // reason otherwise.
  static Result<SharedLibrary> Open(std::span<const std::string> paths);

  // False, and `function` null, when the library has no such symbol: it is older than we need.
  template <class Function>
  bool Load(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Symbol(symbol));
    return function != nullptr;
  }
  // The same for who asks by name alone; outlives this object, as the library does.
  std::function<void*(const char* symbol)> Finder() const {
    return [library = *this](const char* symbol) { return library.Symbol(symbol); };
  }
  const std::string& path() const { return path_; }  // as the loader resolved it

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* Symbol(const char* name) const;
  void* handle_;
  std::string path_;
};

}  // namespace hone::cuda
