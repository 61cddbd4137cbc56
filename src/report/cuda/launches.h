// What an exported kernel for a CUDA device calls of the driver: cubins loaded once a device, launches, fills, tensor
// maps. Word for word part of an export's kernel.cc, which any C++17 compiler builds without a toolkit: it knows the
// driver's C interface, as its documentation declares it, and nothing of hone. Nothing throws: a Call remembers the
// first line of what failed, and does no more after it.
//
// Calls may come from any thread, one after the other (kernel.cc holds a lock). Streams are the caller's, of the
// device's primary context, which is the current one meanwhile.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace hone_launches {

using Address = unsigned long long;  // in device memory

struct Extents {
  unsigned x, y, z;
};

struct Image {  // of a cubin
  const unsigned char* begin;
};

// One launch of the plan, but for its arguments.
struct Kernel {
  const char* name;    // as the plan has it
  const char* symbol;  // as the cubin has it
  int image;
  Extents grid, block, cluster;
  unsigned shared;  // bytes, dynamic
  int together;     // so many blocks wait for each other
  bool early;       // begins while the launch before it ends, and waits for that itself
};

// --- The driver.

struct Attribute {
  int id;
  char padding[4];
  union {
    Extents cluster;
    int early;
    char all[64];
  } value;
};
constexpr int kClusterDimension = 4, kProgrammaticSerialization = 6;

struct Launch {
  Extents grid, block;
  unsigned shared;
  void* stream;
  Attribute* attributes;
  unsigned attribute_count;
};

struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

struct Driver {
  int (*init)(unsigned flags);
  int (*retain)(void** context, int device);
  int (*current)(void** context);
  int (*set_current)(void* context);
  int (*attribute)(int* value, int attribute, int device);
  int (*module_load)(void** module, const void* image);
  int (*module_function)(void** function, void* module, const char* symbol);
  int (*function_set)(void* function, int attribute, int value);
  int (*function_blocks)(int* blocks, void* function, int threads, std::size_t shared);
  int (*launch)(const Launch* launch, void* function, void** arguments, void** extra);
  int (*encode)(TensorMap* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                const std::uint64_t* strides, const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                int promotion, int fill);
  int (*encode_pixels)(TensorMap* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                       const std::uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                       unsigned pixels, const unsigned* steps, int interleave, int swizzle, int promotion, int fill);
  int (*fill)(Address at, unsigned char byte, std::size_t count, void* stream);
  int (*error_name)(int code, const char** name);
};

// Opened once a process; null where there is none, or one that is too old.
inline const Driver* TheDriver() {
  static const Driver* const driver = []() -> const Driver* {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Driver made{};
    const auto load = [&](const char* symbol, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    const bool all = load("cuInit", made.init) && load("cuDevicePrimaryCtxRetain", made.retain) &&
                     load("cuCtxGetCurrent", made.current) && load("cuCtxSetCurrent", made.set_current) &&
                     load("cuDeviceGetAttribute", made.attribute) && load("cuModuleLoadData", made.module_load) &&
                     load("cuModuleGetFunction", made.module_function) &&
                     load("cuFuncSetAttribute", made.function_set) &&
                     load("cuOccupancyMaxActiveBlocksPerMultiprocessor", made.function_blocks) &&
                     load("cuLaunchKernelEx", made.launch) && load("cuTensorMapEncodeTiled", made.encode) &&
                     load("cuTensorMapEncodeIm2col", made.encode_pixels) && load("cuMemsetD8Async", made.fill) &&
                     load("cuGetErrorName", made.error_name);
    return all && made.init(0) == 0 ? &made : nullptr;
  }();
  return driver;
}

// --- What is loaded on one device, for the life of the process: at its end the driver may be gone before it.

struct Loaded {
  int device = 0;
  void* context = nullptr;            // the device's primary one
  std::vector<void*> functions;       // one a Kernel
  std::vector<Attribute> attributes;  // two a Kernel
  std::vector<unsigned> attribute_counts;
};

// A tensor map, encoded again when its tensor lies elsewhere.
struct KeptMap {
  Address at = 0;
  TensorMap map{};
};

// The calls of one run of the plan on a device: makes its context the current one until it ends.
class Call {
 public:
  Call(int device, void* stream) : driver_(TheDriver()), stream_(stream), device_(device) {
    if (driver_ == nullptr) error_ = "there is no CUDA driver here (libcuda.so.1), or one older than 12.0";
  }
  ~Call() {
    if (changed_) driver_->set_current(before_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // First. Loads what was not loaded on this device yet.
  bool Begin(const Image* images, int image_count, const Kernel* kernels, int kernel_count) {
    if (driver_ == nullptr) return false;
    static std::map<int, Loaded*> everywhere;
    Loaded*& loaded = everywhere[device_];
    if (loaded == nullptr) {
      auto* made = new Loaded;
      made->device = device_;
      if (!Good(driver_->retain(&made->context, device_), "cuDevicePrimaryCtxRetain") || !Enter(*made) ||
          !Load(images, image_count, kernels, kernel_count, *made)) {
        delete made;
        return false;
      }
      loaded = made;
    }
    loaded_ = loaded;
    kernels_ = kernels;
    return Enter(*loaded);
  }

  bool Run(int number, void** arguments) {
    const Kernel& kernel = kernels_[number];
    const auto at = static_cast<std::size_t>(number);
    const Launch launch{kernel.grid,
                        kernel.block,
                        kernel.shared,
                        stream_,
                        const_cast<Attribute*>(&loaded_->attributes[2 * at]),
                        loaded_->attribute_counts[at]};
    return Good(driver_->launch(&launch, loaded_->functions[at], arguments, nullptr), kernel.name);
  }

  bool Fill(Address at, int byte, std::size_t count) {
    return Good(driver_->fill(at, static_cast<unsigned char>(byte), count, stream_), "cuMemsetD8Async");
  }

  // Extents, strides (bytes, from the second dimension on) and box count from the innermost dimension. Swizzle and
  // promotion are the driver's numbers.
  template <unsigned RANK>
  bool Map(KeptMap& kept, Address at, int type, const std::uint64_t (&extents)[RANK],
           const std::uint64_t (&strides)[RANK], const unsigned (&box)[RANK], int swizzle, int promotion) {
    if (kept.at == at && at != 0) return true;
    unsigned ones[RANK];
    for (unsigned& one : ones) one = 1;
    kept.at = 0;
    if (!Good(driver_->encode(&kept.map, type, RANK, reinterpret_cast<void*>(at), extents, strides, box, ones, 0,
                              swizzle, promotion, 0),
              "cuTensorMapEncodeTiled"))
      return false;
    kept.at = at;
    return true;
  }

  // Likewise of pixels: corners and steps count from the innermost spatial dimension.
  template <unsigned RANK>
  bool Map(KeptMap& kept, Address at, int type, const std::uint64_t (&extents)[RANK],
           const std::uint64_t (&strides)[RANK], const int (&lower)[RANK - 2], const int (&upper)[RANK - 2],
           const unsigned (&steps)[RANK], unsigned channels, unsigned pixels, int swizzle, int promotion) {
    if (kept.at == at && at != 0) return true;
    kept.at = 0;
    if (!Good(driver_->encode_pixels(&kept.map, type, RANK, reinterpret_cast<void*>(at), extents, strides, lower, upper,
                                     channels, pixels, steps, 0, swizzle, promotion, 0),
              "cuTensorMapEncodeIm2col"))
      return false;
    kept.at = at;
    return true;
  }

  // For what is called beside the driver; `error`: empty if it went well.
  bool Passed(const std::string& error) {
    if (error_.empty()) error_ = error;
    return error_.empty();
  }

  int device() const { return device_; }
  void* stream() const { return stream_; }
  const std::string& error() const { return error_; }  // one line; empty: it went well

 private:
  bool Good(int code, const char* what) {
    if (code == 0) return true;
    const char* name = nullptr;
    driver_->error_name(code, &name);
    error_ = std::string(what) + ": " + (name != nullptr ? name : std::to_string(code).c_str());
    return false;
  }

  bool Enter(const Loaded& loaded) {
    if (changed_) return true;
    if (!Good(driver_->current(&before_), "cuCtxGetCurrent")) return false;
    if (before_ == loaded.context) return true;
    changed_ = Good(driver_->set_current(loaded.context), "cuCtxSetCurrent");
    return changed_;
  }

  bool Load(const Image* images, int image_count, const Kernel* kernels, int kernel_count, Loaded& made) {
    std::vector<void*> modules;
    for (int i = 0; i < image_count; ++i) {
      if (!Good(driver_->module_load(&modules.emplace_back(), images[i].begin), "cuModuleLoadData")) return false;
    }
    constexpr int kMultiprocessors = 16, kMaxDynamicShared = 8;
    int multiprocessors = 0;
    if (!Good(driver_->attribute(&multiprocessors, kMultiprocessors, device_), "cuDeviceGetAttribute")) return false;
    made.attributes.resize(2 * static_cast<std::size_t>(kernel_count));
    for (int i = 0; i < kernel_count; ++i) {
      const Kernel& kernel = kernels[i];
      void*& function = made.functions.emplace_back();
      if (!Good(driver_->module_function(&function, modules[static_cast<std::size_t>(kernel.image)], kernel.symbol),
                kernel.name))
        return false;
      if (kernel.shared > 0 &&
          !Good(driver_->function_set(function, kMaxDynamicShared, static_cast<int>(kernel.shared)), kernel.name))
        return false;
      if (kernel.together > 1) {
        int blocks = 0;
        const auto threads = static_cast<int>(kernel.block.x * kernel.block.y * kernel.block.z);
        if (!Good(driver_->function_blocks(&blocks, function, threads, kernel.shared), kernel.name)) return false;
        if (blocks * multiprocessors < kernel.together)
          return Passed(std::string(kernel.name) + ": the device holds too few of its blocks at once");
      }
      Attribute* attribute = &made.attributes[2 * static_cast<std::size_t>(i)];
      unsigned count = 0;
      if (kernel.cluster.x * kernel.cluster.y * kernel.cluster.z > 1) {
        attribute[count].id = kClusterDimension;
        attribute[count++].value.cluster = kernel.cluster;
      }
      if (kernel.early) {
        attribute[count].id = kProgrammaticSerialization;
        attribute[count++].value.early = 1;
      }
      made.attribute_counts.push_back(count);
    }
    return true;
  }

  const Driver* driver_;
  void* stream_;
  int device_;
  const Loaded* loaded_ = nullptr;
  const Kernel* kernels_ = nullptr;
  void* before_ = nullptr;
  bool changed_ = false;
  std::string error_;
};

}  // namespace hone_launches
