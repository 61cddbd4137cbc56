// A device's blocks on the host, for tests: C++ that goes before the text of nests. Either a block is one thread, and
// so is the grid, or its threads take turns: each goes on until it has to wait for others, at a barrier or for what the
// lanes of its warp have. The first goes first in every other block and the last in the others, so that barriers that
// are missing show.
#pragma once

#include <string_view>

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

// What is shared holds what the block before left there.
inline constexpr std::string_view kThreadsTakeTurns = R"(#define HONE_THREADS_TAKE_TURNS
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <ucontext.h>
struct Place { unsigned x; };
static Place threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __launch_bounds__(n)
#define __shared__ static
struct Meeting {
  unsigned count, left, phase = 0;
  explicit Meeting(unsigned threads) : count(threads), left(threads) {}
  void Wait();
};
struct Warp {
  Meeting sync{32};
  unsigned words[32];
};
struct Turn {
  ucontext_t begin;
  jmp_buf at;
  const Meeting* meeting = nullptr;  // while its phase is `phase` this one waits
  unsigned phase = 0;
  bool begun = false, done = false;
};
static Turn* running;
static jmp_buf others;
static Meeting* all;
static std::vector<Warp>* warps;
void Meeting::Wait() {
  if (--left == 0) {
    left = count;
    ++phase;
    return;
  }
  running->meeting = this;
  running->phase = phase;
  if (_setjmp(running->at) == 0) _longjmp(others, 1);
}
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
  constexpr std::size_t kStack = 64 << 10;
  static const Kernel* body;
  body = &kernel;
  gridDim.x = static_cast<unsigned>(blocks);
  blockDim.x = static_cast<unsigned>(threads);
  const std::unique_ptr<char[]> stacks(new char[threads * kStack]);
  for (long block = 0; block < blocks; ++block) {
    Meeting of_block(blockDim.x);
    std::vector<Warp> of_warps(threads / 32);
    std::vector<Turn> turns(threads);
    all = &of_block;
    warps = &of_warps;
    blockIdx.x = static_cast<unsigned>(block);
    for (int t = 0; t < threads; ++t) {
      getcontext(&turns[t].begin);
      turns[t].begin.uc_stack.ss_sp = stacks.get() + t * kStack;
      turns[t].begin.uc_stack.ss_size = kStack;
      makecontext(&turns[t].begin, +[] {
        (*body)();
        running->done = true;
        _longjmp(others, 1);
      }, 0);
    }
    for (volatile bool moved = true; moved;) {
      moved = false;
      for (volatile int i = 0; i < threads; ++i) {
        const int t = block % 2 == 0 ? i : threads - 1 - i;
        Turn& turn = turns[t];
        if (turn.done || (turn.meeting != nullptr && turn.meeting->phase == turn.phase)) continue;
        moved = true;
        turn.meeting = nullptr;
        running = &turn;
        threadIdx.x = static_cast<unsigned>(t);
        if (_setjmp(others) != 0) continue;
        if (turn.begun) _longjmp(turn.at, 1);
        turn.begun = true;
        setcontext(&turn.begin);
      }
    }
    for (const Turn& turn : turns) {
      if (turn.done) continue;
      std::fprintf(stderr, "a thread of block %ld waits in vain\n", block);
      std::abort();
    }
  }
}
)";

}  // namespace hone::testing
