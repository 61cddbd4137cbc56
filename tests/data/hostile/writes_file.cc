// Leaves something behind.
#include <cstdio>

extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  if (std::FILE* file = std::fopen("/tmp/left-behind", "w")) std::fclose(file);
  return 0;
}
