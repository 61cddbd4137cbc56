// suspicious: openat of /etc/passwd
#include <fcntl.h>
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return open("/etc/passwd", O_RDONLY) < 0;
}
