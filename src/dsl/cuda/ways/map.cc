#include "dsl/cuda/map.h"

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/turned_map.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_map {
namespace {

// How many packs a thread has: more loads are in flight, fewer blocks are started.
std::vector<Setting> UnrollValues(const Kernel&) { return {Whole(1), Whole(2), Whole(4)}; }
// Of each multiprocessor, several times what its threads have under way.
constexpr double kLeastElements = 64 << 10;

// Of 16 bits eight are 16 bytes, which takes 0.80 to 0.98 of the time of four where so many threads still fill the
// device (docs/measured/cuda_layers.md); of fewer elements sometimes more.
std::vector<Setting> MapPackValues(const Kernel& kernel) {
  constexpr std::int64_t kThreads = 2048;  // of a multiprocessor
  const bool halves = kernel.also.empty() && IsHalf(kernel.target_type);
  if (!halves || SpaceCount(kernel) < 8 * kThreads * kernel.device->multiprocessors) return PackValues(kernel);
  return {Whole(8), Whole(4), Whole(2)};
}

std::optional<std::string> CheckUnroll(const Kernel&, const Setting& value) { return CheckRange(value, 1, 16); }

// Squares are loaded before any of them is stored: more threads have more loads under way.
std::vector<Setting> ThreadsValues(const Kernel& kernel) {
  return CanTurn(kernel) ? std::vector{Whole(512), Whole(256)} : BlockThreadsValues(kernel);
}

// What waits for memory keeps it as busy from three quarters of the multiprocessors, or from half of them. Not of what
// is turned in squares, nor of what is so small that it does not fill all of them anyway.
std::vector<Setting> MultiprocessorsValues(const Kernel& kernel) {
  const int all = kernel.device->multiprocessors;
  if (CanTurn(kernel) || all < 4 || SpaceCount(kernel) < kLeastElements * all) return {};
  return {Whole(all * 3 / 4), Whole(all / 2), Whole(all)};
}
std::optional<std::string> CheckMultiprocessors(const Kernel& kernel, const Setting& value) {
  if (CanTurn(kernel)) return "what is turned in squares is not kept from multiprocessors";
  return CheckRange(value, 1, 65535);
}

constexpr Knob kKnobs[] = {
    {kBlockThreadsKnob.name, kBlockThreadsKnob.doc, ThreadsValues, CheckBlockThreads},
    {kPackKnob.name, kPackKnob.doc, MapPackValues, CheckPack},
    {"unroll", "packs of a thread, a block's width apart", UnrollValues, CheckUnroll},
    {"tile", "edge of the squares in which what is read across is turned, in words of 4 bytes; 0 = element by element",
     TurnedTileValues, CheckTurnedTile},
    {kMultiprocessorsKnob,
     "so many blocks of 1024 threads go through all of it, each on a multiprocessor of its own: what waits for memory "
     "takes less energy then; left out: all of them",
     MultiprocessorsValues, CheckMultiprocessors, /*with_neighbours=*/false, /*saves_energy=*/true},
};

}  // namespace

HONE_ROW(Way){
    .family = "map",
    .knobs = kKnobs,
    .emit_cuda = EmitMapCuda,
};

}  // namespace hone::dsl::cuda_way_map
