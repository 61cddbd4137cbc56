// x / (1 + exp(-x)) in tiles that threads take as they come.
extern "C" int32_t hone_run(const HoneCall* call) {
#pragma omp parallel for schedule(dynamic) num_threads(call->threads)
  for (int tile = 0; tile < 100; ++tile) {
    float scratch[100];
    for (int i = 0; i < 100; ++i) scratch[i] = 1 + std::exp2(In(call, 0)[tile * 100 + i] * -1.44269504f);
    for (int i = 0; i < 100; ++i) Out(call)[tile * 100 + i] = In(call, 0)[tile * 100 + i] / scratch[i];
  }
  return 0;
}
