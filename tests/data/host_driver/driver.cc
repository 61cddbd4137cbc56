// A CUDA driver for tests of what calls one: its device is this processor, which knows the kernels of the plans here. What
// it was asked for goes, a line each, to the file that HOST_DRIVER_LOG names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Extents {
  unsigned x, y, z;
};
struct Attribute {
  int id;
  char padding[4];
  unsigned value[16];
};
struct Launch {
  Extents grid, block;
  unsigned shared;
  void* stream;
  Attribute* attributes;
  unsigned attribute_count;
};

int context_of_device[8];
thread_local void* current = nullptr;

void Say(const std::string& line) {
  const char* path = std::getenv("HOST_DRIVER_LOG");
  std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

template <class T>
T& Argument(void** arguments, int number) {
  return *static_cast<T*>(arguments[number]);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &context_of_device[device];
  Say("retain " + std::to_string(device));
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = 132;
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return 200;
  *module = const_cast<void*>(image);
  Say("load");
  return 0;
}
int cuModuleGetFunction(void** function, void*, const char* symbol) {
  *function = strdup(symbol);
  return 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  Say(std::string("attribute ") + static_cast<const char*>(function) + " " + std::to_string(attribute) + " " +
      std::to_string(value));
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
  *blocks = 1;
  return 0;
}
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                           const std::uint64_t* strides, const unsigned* box, const unsigned*, int, int swizzle, int,
                           int) {
  std::memcpy(map, &address, sizeof address);
  std::string line = "encode " + std::to_string(type) + " " + std::to_string(swizzle);
  for (unsigned d = 0; d < rank; ++d)
    line += " " + std::to_string(extents[d]) + ":" + std::to_string(strides[d]) + ":" + std::to_string(box[d]);
  Say(line);
  return 0;
}
int cuTensorMapEncodeIm2col(void* map, int, unsigned, void* address, const std::uint64_t*, const std::uint64_t*,
                            const int*, const int*, unsigned channels, unsigned pixels, const unsigned*, int, int, int,
                            int) {
  std::memcpy(map, &address, sizeof address);
  Say("encode pixels " + std::to_string(channels) + ":" + std::to_string(pixels));
  return 0;
}
int cuMemsetD8Async(unsigned long long at, unsigned char byte, std::size_t count, void*) {
  std::memset(reinterpret_cast<void*>(at), byte, count);
  Say("fill " + std::to_string(count));
  return 0;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == 200 ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuLaunchKernelEx(const Launch* launch, void* function, void** arguments, void**) {
  const std::string name = static_cast<const char*>(function);
  if (current == nullptr) return 201;
  std::string line = "launch " + name + " grid " + std::to_string(launch->grid.x) + " shared " +
                     std::to_string(launch->shared) + " stream " +
                     std::to_string(reinterpret_cast<std::uintptr_t>(launch->stream));
  for (unsigned i = 0; i < launch->attribute_count; ++i)
    line += " with " + std::to_string(launch->attributes[i].id) + ":" + std::to_string(launch->attributes[i].value[0]);
  Say(line);
  if (name == "pack") {  // twice the weights
    const auto* weight = Argument<const float*>(arguments, 0);
    auto* packed = Argument<float*>(arguments, 1);
    for (int i = 0; i < 64; ++i) packed[i] = 2 * weight[i];
  } else if (name == "scale") {
    const auto* x = Argument<const float*>(arguments, 0);  // a tensor map begins with the address here
    const auto* packed = Argument<const float*>(arguments, 1);
    auto* part = Argument<float*>(arguments, 2);
    for (int i = 0; i < Argument<int>(arguments, 3); ++i) part[i] = x[i] * packed[i % 64];
  } else if (name == "finish") {  // `sum` was filled with zeros
    const auto* part = Argument<const float*>(arguments, 0);
    const auto* table = Argument<const float*>(arguments, 1);
    auto* sum = Argument<float*>(arguments, 2);
    auto* y = Argument<float*>(arguments, 3);
    for (int i = 0; i < 8192; ++i) sum[0] += part[i];
    for (int i = 0; i < 8192; ++i) y[i] = part[i] + table[i % 64] + Argument<float>(arguments, 4) * sum[0];
  } else if (name == "put") {  // into a cache, at a place that counts on
    const auto* x = Argument<const float*>(arguments, 0);
    auto* cache = Argument<float*>(arguments, 1);
    auto* place = Argument<std::int64_t*>(arguments, 2);
    auto* sums = Argument<float*>(arguments, 3);
    std::memcpy(cache + *place * 64, x, 64 * sizeof(float));
    for (int i = 0; i < 64; ++i) sums[i] = 0;
    for (int i = 0; i < 8 * 64; ++i) sums[i % 64] += cache[i];
    ++*place;
  } else {
    return 500;
  }
  return 0;
}

}  // extern "C"
