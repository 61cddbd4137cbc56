// Built for another interface. (Brings its own version: the honest part is not pasted before this one.)
#include <hone/module.h>

extern "C" int32_t hone_abi_version() { return 99; }
extern "C" int32_t hone_run(const HoneCall*) { return 0; }
