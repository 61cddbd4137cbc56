// suspicious: on a device it makes none
// A thread that is there before anybody looks.
#include <thread>
static std::thread* early = new std::thread([] {});
extern "C" int32_t hone_run(const HoneCall* call) {
  early->join();
  Compute(call, Stream(call));
  return 0;
}
