// The same, before anybody has called it.
#include <cstdio>

__attribute__((constructor)) static void Begin() {
  if (std::FILE* file = std::fopen("/etc/passwd", "r")) std::fclose(file);
}

extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  return 0;
}
