#include "worker/serve_requests.h"

#include <sys/socket.h>
#include <unistd.h>

#include "protocol/protocol.h"

namespace hone {

int ServeRequests(const std::function<void()>& get_ready, const std::function<Reply(const Request&)>& answer) {
  Reply ready;
  ready.said = Said::kReady;
  if (send(kChannelDescriptor, &ready, sizeof ready, MSG_NOSIGNAL) != sizeof ready) return 4;
  get_ready();
  Request request;
  while (recv(kChannelDescriptor, &request, sizeof request, 0) == sizeof request) {
    const Reply reply = answer(request);
    if (send(kChannelDescriptor, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) break;
  }
  _exit(0);  // no destructors of the candidate's
}

}  // namespace hone
