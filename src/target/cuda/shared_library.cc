#include "target/cuda/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace hone::cuda {

Result<SharedLibrary> SharedLibrary::Open(std::span<const std::string> paths) {
  std::string reason = "no path given";
  for (const auto& path : paths) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = dlerror();
      continue;
    }
    link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    return SharedLibrary(handle, map != nullptr && map->l_name[0] != '\0' ? map->l_name : path);
  }
  return Fail(ErrorKind::kNotFound, reason);
}

void* SharedLibrary::Symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace hone::cuda
