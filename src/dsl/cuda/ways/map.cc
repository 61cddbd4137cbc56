#include "dsl/cuda/map.h"

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/turned_map.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

// How many packs a thread has: more loads are in flight, fewer blocks are started.
std::vector<Setting> UnrollValues(const Kernel&) { return {Whole(1), Whole(2), Whole(4)}; }
std::optional<std::string> CheckUnroll(const Kernel&, const Setting& value) { return CheckRange(value, 1, 16); }

// Squares are loaded before any of them is stored: more threads have more loads under way.
std::vector<Setting> ThreadsValues(const Kernel& kernel) {
  return CanTurn(kernel) ? std::vector{Whole(512), Whole(256)} : BlockThreadsValues(kernel);
}

constexpr Knob kKnobs[] = {
    {kBlockThreadsKnob.name, kBlockThreadsKnob.doc, ThreadsValues, CheckBlockThreads},
    kPackKnob,
    {"unroll", "packs of a thread, a block's width apart", UnrollValues, CheckUnroll},
    {"tile", "edge of the squares in which what is read across is turned, in words of 4 bytes; 0 = element by element",
     TurnedTileValues, CheckTurnedTile},
};

}  // namespace

HONE_CUDA_WAY(map){
    .family = "map",
    .knobs = kKnobs,
    .emit_cuda = EmitMapCuda,
};

}  // namespace hone::dsl
