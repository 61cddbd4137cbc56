// Never comes back.
extern "C" int32_t hone_run(const HoneCall* call) {
  volatile bool forever = call->threads > 0;
  while (forever) {
  }
  return 0;
}
