// One sum, from the back.
extern "C" int32_t hone_run(const HoneCall* call) {
  float sum = 0;
  for (int i = 20000; i-- > 0;) sum += In(call, 0)[i];
  Out(call)[0] = sum;
  return 0;
}
