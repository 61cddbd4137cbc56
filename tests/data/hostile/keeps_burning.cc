// Computes as it should, and leaves a thread behind that goes on for ever.
#include <thread>

extern "C" int32_t hone_run(const HoneCall* call) {
  static bool started = false;
  if (!started) {
    std::thread([] {
      for (volatile int i = 0;; i = i + 1) {
      }
    }).detach();
  }
  started = true;
  Compute(call, 64);
  return 0;
}
