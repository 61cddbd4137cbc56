// compile_error: identifier "nothing" is undefined
extern "C" int32_t hone_run(const HoneCall* call) { return nothing; }
