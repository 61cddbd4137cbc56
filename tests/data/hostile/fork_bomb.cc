// Doubles itself for ever.
#include <unistd.h>

extern "C" int32_t hone_run(const HoneCall*) {
  while (true) fork();
  return 0;
}
