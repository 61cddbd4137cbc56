// Calls of cuDNN and cuBLASLt between the launches of an exported kernel: libraries that PyTorch has loaded, found by
// their names. Word for word part of an export, like launches.h, whose locks and threads hold here, too. Libraries'
// handles and described calls stay for the life of the process, one a device: at its end the driver may be gone before
// them.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <map>
#include <string>

#include "report/cuda/launches.h"

namespace hone_launches {

// The device's context is the current one. Null, with the call's error set, where the library is not to be had.
template <class Library>
Library* Opened(Call& call, std::initializer_list<const char*> names) {
  static std::map<int, Library*> everywhere;
  Library*& library = everywhere[call.device()];
  if (library != nullptr) return library;
  for (const char* name : names) {
    void* file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) continue;
    auto* made = new Library;
    if (!call.Passed(made->Open([file](const char* symbol) { return dlsym(file, symbol); }).error)) {
      delete made;
      return nullptr;
    }
    return library = made;
  }
  call.Passed(std::string("cannot open ") + *names.begin());
  return nullptr;
}

// Described on the first call, asked for on every one.
template <class Library, class Described, class Spec, class Memory>
bool RunLibrary(Call& call, std::initializer_list<const char*> names, std::map<int, Described*>& described,
                const Spec& spec, const Memory& memory) {
  Library* library = Opened<Library>(call, names);
  if (library == nullptr) return false;
  Described*& one = described[call.device()];
  if (one == nullptr) {
    auto* made = new Described;
    if (!call.Passed(library->Describe(spec, memory, *made).error)) {
      delete made;
      return false;
    }
    one = made;
  }
  return call.Passed(library->Run(*one, memory, call.stream()).error);
}

}  // namespace hone_launches
