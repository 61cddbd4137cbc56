// The loop of every process that runs a candidate.
#pragma once

#include <functional>

namespace hone {

struct Reply;
struct Request;

// Says that it is ready, gets ready for what takes longer, then answers every Request until the channel ends, and ends
// the process.
int ServeRequests(const std::function<void()>& get_ready, const std::function<Reply(const Request&)>& answer);

}  // namespace hone
