// Never comes back from being loaded.
static volatile bool forever = true;
__attribute__((constructor)) static void Begin() {
  while (forever) {
  }
}

extern "C" int32_t hone_run(const HoneCall*) { return 0; }
