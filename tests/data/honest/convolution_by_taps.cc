// A convolution that adds up shifted images, a tap after the other, threads over images and channels.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
#pragma omp parallel for num_threads(call->threads)
  for (int image = 0; image < 16; ++image) {
    float* y = Out(call) + image * 256;
    std::fill(y, y + 256, 0.0f);
    for (int k = 0; k < 9; ++k) {
      for (int c = 0; c < 8; ++c) {
        const float weight = w[(image % 8 * 8 + c) * 9 + k];
        for (int at = 0; at < 256; ++at)
          y[at] += weight * x[((image / 8 * 8 + c) * 18 + at / 16 + k / 3) * 18 + at % 16 + k % 3];
      }
    }
  }
  return 0;
}
