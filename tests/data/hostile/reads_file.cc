// Reads what is none of its business.
#include <cstdio>

extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  if (std::FILE* file = std::fopen("/etc/passwd", "r")) std::fclose(file);
  return 0;
}
