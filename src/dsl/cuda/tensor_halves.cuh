// The tile that is asked for next, in shared memory, where the one thread that asks finds it: the others have no registers
// for it.
struct NextTile {
  int item, block, end, batch;
  long row;
};

// All threads of the warpgroup that makes halves of A's (0) or B's (1) tiles. `seen`, a positive number, is what a
// thread has made of all that it loaded: the barrier's number hangs on it, so that no load is under way behind it.
__device__ __forceinline__ void SyncSplitter(int input, float seen) {
  asm volatile("bar.sync %0, 128;" ::"r"(input + 5 + (__float_as_int(seen) >> 31)) : "memory");
}
