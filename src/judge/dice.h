// What the judge's choices by chance come from: inputs, which calls get new ones, which are looked at. Made where the
// judge runs, from the kernel's random numbers, so that no candidate knows them; named in the result afterwards, so
// that an evaluation can be repeated to find a mistake.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/secret_random.h"

namespace hone {

struct Dice {
  SecretRandom::Key key{};
  std::uint64_t draws = 0;    // how often there were fresh draws
  std::uint64_t timings = 0;  // how many candidates were timed before
  SecretRandom ForDraws() const { return {key, 2 * draws}; }
  SecretRandom ForTiming() const { return {key, 2 * timings + 1}; }
  SecretRandom ForBaselines() const { return {key, ~std::uint64_t{0}}; }
};

std::string ToString(const Dice& dice);  // "KEY.DRAWS.TIMINGS", the key in hexadecimal digits
Result<Dice> ParseDice(const std::string& text);

}  // namespace hone
