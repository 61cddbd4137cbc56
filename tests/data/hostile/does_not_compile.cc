// A typo on line 3 of what is pasted together.
extern "C" int32_t hone_run(const HoneCall* call){return 0}
