// What every honest module here begins with. Pasted before each of them: a module is one file.
#include <hone/module.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

template <class T = float>
static const T* In(const HoneCall* call, int i) {
  return static_cast<const T*>(call->inputs[i].data);
}
template <class T = float>
static T* Out(const HoneCall* call, int i = 0) {
  return static_cast<T*>(call->outputs[i].data);
}

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
