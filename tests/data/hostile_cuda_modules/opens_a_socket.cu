// suspicious: called socket
#include <sys/socket.h>
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return socket(AF_INET, SOCK_STREAM, 0) < 0;
}
