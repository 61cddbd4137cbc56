// A device's blocks on the host, for tests: C++ that goes before the text of nests. Either a block is one thread, and
// so is the grid, or its threads take turns: each goes on until it has to wait for others, at a barrier or for what the
// lanes of its warp have. The first goes first in every other block and the last in the others, so that barriers that
// are missing show.
#pragma once

#include <string>
#include <string_view>

#include "base/testing/taking_turns.h"

namespace hone::testing {

inline constexpr std::string_view kBlocksOfOneThread = R"(struct Place { unsigned x; };
static const Place threadIdx{0}, blockIdx{0}, blockDim{1}, gridDim{1};
#define __global__
#define __launch_bounds__(n)
#define __shared__ static
#define __syncthreads()
#define __syncthreads_or(x) (x)
template <class Kernel> void Launch(long, int, const Kernel& kernel) { kernel(); }
)";

// What is shared holds what the block before left there. Goes behind kTakingTurns.
inline constexpr std::string_view kThreadsOfBlocks = R"(#define HONE_THREADS_TAKE_TURNS
#define __global__
#define __launch_bounds__(n)
#define __shared__ static
struct Warp {
  Meeting sync{32};
  unsigned words[32];
};
static Meeting* all;
static std::vector<Warp>* warps;
static void __syncthreads() { all->Wait(); }
static int __syncthreads_or(int x) {
  static bool any = false;
  any = any || x != 0;
  all->Wait();
  const bool found = any;
  all->Wait();
  any = false;
  all->Wait();
  return found;
}
static void __syncwarp() { (*warps)[threadIdx.x / 32].sync.Wait(); }
template <class Made>
static auto OfWarp(unsigned mine, const Made& made) {
  Warp& warp = (*warps)[threadIdx.x / 32];
  warp.words[threadIdx.x % 32] = mine;
  warp.sync.Wait();
  const auto result = made(warp.words);
  warp.sync.Wait();
  return result;
}
static unsigned __ballot_sync(unsigned, bool holds) {
  return OfWarp(holds, [](const unsigned* words) {
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) lanes |= words[lane] << lane;
    return lanes;
  });
}
static unsigned __shfl_up_sync(unsigned, unsigned x, unsigned far) {
  return OfWarp(x, [&](const unsigned* words) {
    const unsigned lane = threadIdx.x % 32;
    return words[lane >= far ? lane - far : lane];
  });
}
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <class Kernel>
void Launch(long blocks, int threads, const Kernel& kernel) {
  gridDim.x = static_cast<unsigned>(blocks);
  blockDim.x = static_cast<unsigned>(threads);
  Threads of_block(threads, 64 << 10);
  for (long block = 0; block < blocks; ++block) {
    Meeting of_all(threads);
    std::vector<Warp> of_warps(threads / 32);
    all = &of_all;
    warps = &of_warps;
    blockIdx.x = static_cast<unsigned>(block);
    of_block.Run(kernel, block % 2 != 0, [](int t) { threadIdx.x = static_cast<unsigned>(t); });
  }
}
)";

inline std::string ThreadsTakeTurns() {
  std::string text = "struct Place { unsigned x; };\nstatic Place threadIdx, blockIdx, blockDim, gridDim;\n";
  return text.append(kTakingTurns).append(kThreadsOfBlocks);
}

}  // namespace hone::testing
