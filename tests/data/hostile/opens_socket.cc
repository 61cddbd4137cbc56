// Wants the network.
#include <sys/socket.h>

extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  socket(AF_INET, SOCK_STREAM, 0);
  return 0;
}
