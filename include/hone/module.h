/* The C ABI of a hone module: a shared object that computes one problem.
 *
 * A module exports hone_abi_version and hone_run; hone_prepare and hone_release come together or not at all. Tensors
 * are DLPack tensors: dense, row-major (strides may be NULL), byte_offset 0, on the device of the target: data aligned
 * to 64 bytes on a CPU (kDLCPU), to 512 on a CUDA device (kDLCUDA; what is said of that apart, see below).
 *
 * Call order: hone_abi_version once; hone_prepare once if it is there; hone_run any number of times, never two at once;
 * hone_release. The cycle from hone_prepare to hone_release may be repeated with other parameters. A module may keep
 * threads and scratch memory between calls; its threads sleep while none is running. It may load shared libraries of
 * the system by name (dlopen), and has to do without one that is absent. An output of the problem that updates an input
 * lies where that does: `data` of both is one address, with the input's values before the call and the output's after
 * it. What a module must not do: write to other inputs or to parameters, keep pointers to inputs or outputs after
 * hone_run has returned, read or write outside of the tensors, open files other than such libraries or sockets, start
 * processes. The parameters stay where they are and keep their values from hone_prepare to hone_release; inputs change
 * from call to call.
 *
 * On a CUDA device (a .cu file, through nvcc):
 * - The device's primary context is current in the calling thread, which is always the same; the runtime's functions
 *   work at once. `data` are addresses of the device: the host must not read or write there. The tensors and the
 *   DLTensors belong to the caller; what the module allocates is its own, from hone_prepare or the first hone_run on,
 *   and is freed in hone_release or with the process.
 * - `stream` belongs to the caller. hone_run queues all its work on it, or on streams of its own that wait for it and
 *   that it waits for before hone_run returns (events): when `stream` is done, all is done. On the device nothing may
 * be left to do then; what is, counts as time and refuses the module.
 * - hone_run should not wait: launches are asynchronous. It may (cudaMalloc, cudaMemcpy, cudaStreamSynchronize), and
 * then pays for it in its time. hone_prepare may; when it returns, its work is done or queued on `stream`.
 * - It makes no threads, and leaves the device's limits as they are (of the second-level cache's persisting part above
 *   all) as well as the context, which it must not reset.
 */
#ifndef HONE_MODULE_H_
#define HONE_MODULE_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_ABI_VERSION 1
#define HONE_EXPORT __attribute__((visibility("default")))

typedef struct {
  const DLTensor* inputs; /* in the order of the problem's tensors with role input */
  int32_t input_count;
  const DLTensor* parameters; /* likewise, role parameter */
  int32_t parameter_count;
  DLTensor* outputs; /* likewise, role output; contents are undefined before the call, but where one updates an input */
  int32_t output_count;
  int32_t threads; /* how many threads the module may use, at least 1; 1 on a CUDA device */
  void* state;     /* what hone_prepare stored, or NULL */
  void* stream;    /* cudaStream_t on a CUDA target, NULL on a CPU */
} HoneCall;

/* Returns HONE_ABI_VERSION as the module was compiled with. */
HONE_EXPORT int32_t hone_abi_version(void);

/* Computes the outputs. 0 is success; anything else is reported as a launch error. On return the outputs are written in
 * full (on a CPU) or all work is queued on `stream` (CUDA). */
HONE_EXPORT int32_t hone_run(const HoneCall* call);

/* Optional: work on the parameters that is done once, such as packing weights. Inputs and outputs are absent from
 * `call`. Stores what hone_run needs in *state. Its time is reported apart. */
HONE_EXPORT int32_t hone_prepare(const HoneCall* call, void** state);
HONE_EXPORT void hone_release(void* state);

#ifdef __cplusplus
}
#endif

#endif /* HONE_MODULE_H_ */
