// Rows added where an index says, in the order of the places: counted and sorted first.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *source = In(call, 2);
  const std::int64_t* index = In<std::int64_t>(call, 1);
  std::vector<int> begins(201), order(3000);
  for (int i = 0; i < 3000; ++i) ++begins[static_cast<std::size_t>(index[i]) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<int> next(begins.begin(), begins.end() - 1);
  for (int i = 0; i < 3000; ++i) order[static_cast<std::size_t>(next[static_cast<std::size_t>(index[i])]++)] = i;
#pragma omp parallel for num_threads(call->threads)
  for (int place = 0; place < 200; ++place) {
    for (int j = 0; j < 16; ++j) {
      float sum = 0;
      for (int k = begins[static_cast<std::size_t>(place)]; k < begins[static_cast<std::size_t>(place) + 1]; ++k)
        sum += source[order[static_cast<std::size_t>(k)] * 16 + j];
      Out(call)[place * 16 + j] = x[place * 16 + j] + sum;
    }
  }
  return 0;
}
