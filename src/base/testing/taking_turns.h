// A device's threads on the host, for tests, as C++ text: each goes on until it has to wait for others.
#pragma once

#include <string_view>

namespace hone::testing {

inline constexpr std::string_view kTakingTurns = R"(#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <ucontext.h>
struct Turn {
  ucontext_t begin;
  jmp_buf at;
  const unsigned* phase;  // while this is `was` it waits; null: it does not
  unsigned was;
  bool begun, done;
};
static Turn* running;
static jmp_buf others;
static void WaitWhile(const unsigned& phase, unsigned was) {
  if (phase != was) return;
  running->phase = &phase;
  running->was = was;
  if (_setjmp(running->at) == 0) _longjmp(others, 1);
}
// Who comes waits until all have.
struct Meeting {
  int count, left;
  unsigned phase = 0;
  Meeting(int threads) : count(threads), left(threads) {}
  void Wait() {
    if (--left > 0) return WaitWhile(phase, phase);
    left = count;
    ++phase;
  }
};
// So many threads, again and again on the same stacks.
class Threads {
 public:
  Threads(int count, std::size_t stack) : count_(count), stack_(stack), stacks_(new char[count * stack]) {}
  // `body` is what each does, `go(t)` says who goes on; the last goes first where `turned`.
  template <class Body, class Go>
  void Run(const Body& body, bool turned, const Go& go) {
    static const Body* of_all;
    of_all = &body;
    std::vector<Turn> turns(count_);
    for (int t = 0; t < count_; ++t) {
      getcontext(&turns[t].begin);
      turns[t].begin.uc_stack.ss_sp = stacks_.get() + t * stack_;
      turns[t].begin.uc_stack.ss_size = stack_;
      makecontext(&turns[t].begin, +[] {
        (*of_all)();
        running->done = true;
        _longjmp(others, 1);
      }, 0);
    }
    for (volatile bool moved = true; moved;) {
      moved = false;
      for (volatile int i = 0; i < count_; ++i) {
        const int t = turned ? count_ - 1 - i : i;
        Turn& turn = turns[t];
        if (turn.done || (turn.phase != nullptr && *turn.phase == turn.was)) continue;
        moved = true;
        turn.phase = nullptr;
        running = &turn;
        go(t);
        if (_setjmp(others) != 0) continue;
        if (turn.begun) _longjmp(turn.at, 1);
        turn.begun = true;
        setcontext(&turn.begin);
      }
    }
    for (int t = 0; t < count_; ++t) {
      if (turns[t].done) continue;
      go(t);
      std::fprintf(stderr, "thread %d of block %d waits in vain\n", static_cast<int>(threadIdx.x),
                   static_cast<int>(blockIdx.x));
      std::abort();
    }
  }

 private:
  const int count_;
  const std::size_t stack_;
  const std::unique_ptr<char[]> stacks_;
};
)";

}  // namespace hone::testing
