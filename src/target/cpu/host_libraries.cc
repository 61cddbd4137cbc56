#include "target/cpu/host_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <string_view>

namespace hone {

std::optional<std::string> FindHostLibrary(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  link_map* map = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
  std::string path = known ? map->l_name : "";
  dlclose(library);
  constexpr std::array<std::string_view, 5> kFolders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
                                                        "/usr/local/lib/"};
  for (const std::string_view folder : kFolders) {
    if (path.starts_with(folder) && path.find("..") == std::string::npos) return path;
  }
  return std::nullopt;
}

const std::optional<std::string>& FindOneDnn() {
  static const std::optional<std::string> found = FindHostLibrary("libdnnl.so.2");
  return found;
}

DeviceModel DescribeHost() {
  DeviceModel host = DescribeMachine();
  host.libraries.onednn = FindOneDnn().has_value();
  return host;
}

}  // namespace hone
