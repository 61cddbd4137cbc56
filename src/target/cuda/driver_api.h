// The driver's functions for those who wrap them: driver.cc and loaded_plan.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

// The part of the driver's C interface that we use, as its documentation declares it. Every call gives a CUresult, an
// int; 0 is success.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    struct {
      unsigned x, y, z;
    } cluster;
    int early;
    char all[64];
  } value;
};
constexpr int kClusterDimension = 4, kEarlyLaunch = 6;  // the latter: programmatic stream serialization
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};
struct Uuid {
  unsigned char bytes[16];
};
struct MemoryLocation {
  int type, id;
};
struct AllocationProperties {
  int type, handle_types;
  MemoryLocation location;
  void* unused;
  unsigned char flags[8];
};
struct AccessDescription {
  MemoryLocation location;
  int flags;
};
// A function's attribute: what it takes has to be said where that and its static memory are more than 48 KiB together.
constexpr int kMaxDynamicShared = 8;
constexpr int kPersistingLimit = 6;
constexpr int kPinned = 1, kOnDevice = 1, kFileDescriptor = 1;

struct Api {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_uuid)(Uuid* uuid, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_memory)(std::size_t* bytes, int device);
  int (*retain)(void** context, int device);
  int (*release)(int device);
  int (*set_current)(void* context);
  int (*allocate)(Address* address, std::size_t bytes);
  int (*free)(Address address);
  int (*copy_in)(Address to, const void* from, std::size_t bytes, void* stream);
  int (*copy_out)(void* to, Address from, std::size_t bytes, void* stream);
  int (*copy)(Address to, Address from, std::size_t bytes, void* stream);
  int (*memory_info)(std::size_t* free_bytes, std::size_t* bytes);
  int (*set16)(Address at, unsigned short pattern, std::size_t count, void* stream);
  int (*create_memory)(unsigned long long* handle, std::size_t bytes, const AllocationProperties* properties,
                       unsigned long long flags);
  int (*release_memory)(unsigned long long handle);
  int (*export_memory)(void* descriptor, unsigned long long handle, int type, unsigned long long flags);
  int (*import_memory)(unsigned long long* handle, void* descriptor, int type);
  int (*reserve)(Address* address, std::size_t bytes, std::size_t alignment, Address wish, unsigned long long flags);
  int (*free_reserved)(Address address, std::size_t bytes);
  int (*map)(Address address, std::size_t bytes, std::size_t offset, unsigned long long handle,
             unsigned long long flags);
  int (*unmap)(Address address, std::size_t bytes);
  int (*set_access)(Address address, std::size_t bytes, const AccessDescription* access, std::size_t count);
  int (*set8)(Address at, unsigned char byte, std::size_t count, void* stream);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_wait)(void* stream);
  int (*stream_query)(void* stream);
  int (*context_wait)();
  int (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
  int (*get_limit)(std::size_t* value, int limit);
  int (*reset_persisting)();
  int (*host_function)(void* stream, void (*function)(void*), void* data);
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_wait)(void* event);
  int (*event_elapsed)(float* milliseconds, void* begin, void* end);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*function_set)(void* function, int attribute, int value);
  int (*function_blocks)(int* blocks, void* function, int threads, std::size_t shared_bytes);
  int (*launch)(const LaunchConfig* config, void* function, void** parameters, void** extra);
  int (*encode_tiled)(TensorMap* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                      const std::uint64_t* strides, const unsigned* box, const unsigned* element_strides,
                      int interleave, int swizzle, int promotion, int fill);
  int (*encode_pixels)(TensorMap* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                       const std::uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                       unsigned pixels, const unsigned* element_strides, int interleave, int swizzle, int promotion,
                       int fill);
  int (*capture_begin)(void* stream, int mode);
  int (*capture_end)(void* stream, void** graph);
  int (*graph_instantiate)(void** exec, void* graph, unsigned long long flags);
  int (*graph_launch)(void* exec, void* stream);
  int (*graph_destroy)(void* graph);
  int (*exec_destroy)(void* exec);
  int (*profiler_start)();
  int (*profiler_stop)();
  int (*error_name)(int code, const char** name);
};

// Opened at the first call, once a process. kNotFound without a driver or a device.
const Result<Api>& TheApi();
const Api& Driver();  // by whoever has a Context
// "CALL: CUDA_ERROR_..."
tl::unexpected<Failure> Failed(std::string_view call, int code);

}  // namespace hone::cuda

#define HONE_CUDA(call, ...)                                                       \
  do {                                                                             \
    if (const int code_ = Driver().call(__VA_ARGS__)) return Failed(#call, code_); \
  } while (false)
