// Kernels that a worker runs beside a candidate's (worker/device_room.h and worker/cache_sweep.h call them). FillShared
// and Hold take all of the shared memory that a multiprocessor has, so that one block of them is on each and nothing else
// fits beside it.
extern "C" {

// Every word of the shared memory becomes all ones: a NaN in every real type. Blocks stay for a while, so that none is
// on a multiprocessor twice while another has had none.
__global__ void FillShared(unsigned words, long long nanoseconds) {
  extern __shared__ unsigned memory[];
  volatile unsigned* all = memory;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) all[i] = 0xffffffffu;
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

// Keeps the device, or the stream, busy until the host writes `turn` to go[0], or some time has passed: what is asked
// for meanwhile, on whatever stream, begins after it. When `expected` blocks are there, of all calls so far, the host
// finds `turn` in go[1].
__global__ void Hold(volatile unsigned* go, unsigned* arrived, unsigned expected, unsigned turn,
                     long long nanoseconds) {
  if (threadIdx.x != 0) return;
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  if (atomicAdd(arrived, 1u) + 1 == expected) {
    go[1] = turn;
    __threadfence_system();
  }
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (go[0] != turn && now - begin < nanoseconds);
}

// Reads `count` elements, all 0: what lay in the second-level cache is written back and gone where they fill it.
__global__ void Sweep(const uint4* from, long long count, unsigned* never) {
  unsigned any = 0;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    const uint4 four = from[i];
    any |= four.x | four.y | four.z | four.w;
  }
  if (any != 0) *never = any;
}
}
