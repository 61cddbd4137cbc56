// A server on two descriptors: messages come in line by line, and go out so.
#pragma once

#include <atomic>

#include "mcp/server.h"

namespace hone::mcp {

inline constexpr std::size_t kLongestLine = 64u << 20;  // bytes; a longer one is refused and skipped

// Serves until the input ends, `stop` is set, or nobody reads the output any more; what is in flight then is cancelled,
// and has ended on return. Fails with kIo when the input cannot be read. SIGPIPE has to be ignored.
Result<void> Serve(Catalogue catalogue, int input, int output, const std::atomic<bool>& stop);

}  // namespace hone::mcp
