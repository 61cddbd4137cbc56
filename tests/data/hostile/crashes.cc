// Follows a null pointer.
extern "C" int32_t hone_run(const HoneCall*) {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  return 0;
}
