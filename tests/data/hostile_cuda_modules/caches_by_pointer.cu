// wrong_result: the outputs of an earlier call
// Keeps what it computed for an input at this address.
#include <map>
extern "C" int32_t hone_run(const HoneCall* call) {
  static std::map<const void*, float*> kept;
  constexpr size_t bytes = 512 * 1024 * 4;
  float*& mine = kept[X(call)];
  if (mine) return cudaMemcpyAsync(Y(call), mine, bytes, cudaMemcpyDeviceToDevice, Stream(call));
  cudaMalloc(&mine, bytes);
  Compute(call, Stream(call));
  return cudaMemcpyAsync(mine, Y(call), bytes, cudaMemcpyDeviceToDevice, Stream(call));
}
