// suspicious: of the second-level cache aside
// Keeps its input where a sweep of the cache does not reach it.
extern "C" int32_t hone_run(const HoneCall* call) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20);
  cudaStreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = const_cast<float*>(X(call));
  value.accessPolicyWindow.num_bytes = 512 * 1024 * 4;
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(Stream(call), cudaStreamAttributeAccessPolicyWindow, &value);
  Compute(call, Stream(call));
  return cudaGetLastError();
}
