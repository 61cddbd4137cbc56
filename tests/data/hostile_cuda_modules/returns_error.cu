// launch_error: hone_run returned 7
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return 7;
}
