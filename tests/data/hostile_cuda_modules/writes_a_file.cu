// suspicious: openat of /tmp/left-behind
#include <fcntl.h>
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return open("/tmp/left-behind", O_WRONLY | O_CREAT, 0600) < 0;
}
