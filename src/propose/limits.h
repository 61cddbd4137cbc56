// A machine as the kernel language's checker sees it. One place, so that what is proposed, evaluated and exported has
// the same settings filled in.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>

#include "dsl/kernel.h"
#include "target/machine.h"

namespace hone {

// Whether modules will find oneDNN 2 where libraries are installed.
inline bool HasOneDnn() {
  constexpr std::array kPaths = {"/usr/lib/x86_64-linux-gnu/libdnnl.so.2", "/usr/lib/aarch64-linux-gnu/libdnnl.so.2",
                                 "/usr/lib64/libdnnl.so.2", "/usr/lib/libdnnl.so.2", "/usr/local/lib/libdnnl.so.2"};
  return std::any_of(kPaths.begin(), kPaths.end(), [](const char* path) { return access(path, R_OK) == 0; });
}

inline dsl::Limits LimitsOf(const Machine& machine) {
  return {machine.threads, machine.vector_bytes, machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, HasOneDnn()};
}

}  // namespace hone
