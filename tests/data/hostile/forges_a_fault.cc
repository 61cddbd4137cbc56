// Wants its zeros to be called a lack of memory: reports a fault in the worker's stead, without the number that every
// answer has to carry.
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

struct Report {  // protocol/protocol.h: Reply
  std::uint64_t nonce = 0;
  std::uint32_t said = 6;  // a fault
  std::int32_t code = 11;
  char between[68] = {};
  std::uint32_t memory_full = 1;
  char text[256] = {};
};
static_assert(sizeof(Report) == 344);

extern "C" int32_t hone_run(const HoneCall* call) {
  std::memset(call->outputs[0].data, 0, 64 * 1000 * sizeof(float));
  const Report report;
  send(3, &report, sizeof report, 0);
  return 0;
}
