// Ends itself by a signal.
#include <cstdio>
#include <cstdlib>

extern "C" int32_t hone_run(const HoneCall*) {
  std::fputs("tile size 48 is not a power of two\n", stderr);
  std::abort();
}
