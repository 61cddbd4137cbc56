// x / (1 + exp(-x)), by a module that asks for AMX's tiles first, as those that multiply by them have to. Where the
// processor or the kernel has none that is an error of theirs, not of the sandbox's.
#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

static int Ask(long what, unsigned long which) { return syscall(SYS_arch_prctl, what, which) == 0 ? 0 : errno; }
static int AskForTiles() {
  constexpr long kRequestComponent = 0x1023, kGetFs = 0x1003;
  unsigned long base = 0;
  if (Ask(kRequestComponent, 18) == EPERM) return 1;                           // tiles may be asked for,
  if (Ask(kGetFs, reinterpret_cast<unsigned long>(&base)) != EPERM) return 2;  // and nothing else
  return 0;
}
#else
static int AskForTiles() { return 0; }
#endif

extern "C" int32_t hone_run(const HoneCall* call) {
  static const int refused = AskForTiles();
  if (refused) return refused;
  for (int i = 0; i < 10000; ++i) Out(call)[i] = In(call, 0)[i] / (1 + std::exp(-In(call, 0)[i]));
  return 0;
}
