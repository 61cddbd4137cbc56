// Hands the input through.
#include <cstring>

extern "C" int32_t hone_run(const HoneCall* call) {
  std::memcpy(call->outputs[0].data, call->inputs[0].data, 64 * 1000 * sizeof(float));
  return 0;
}
