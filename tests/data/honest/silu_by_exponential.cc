// x / (1 + exp(-x)).
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int i = 0; i < 10000; ++i) Out(call)[i] = In(call, 0)[i] / (1 + std::exp(-In(call, 0)[i]));
  return 0;
}
