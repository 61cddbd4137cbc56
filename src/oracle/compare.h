// One output of a candidate beside what the oracle expects. Pure; uses several threads on large tensors.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "oracle/oracle.h"
#include "problem/problem.h"
#include "verdict/verdict.h"

namespace hone {

struct OutputCheck {
  std::int64_t wrong = 0;      // elements beyond their budget
  std::int64_t unwritten = 0;  // of these, those that still hold the poison
  std::int64_t nonfinite = 0;  // of these, written ones that are inf or NaN where the oracle is finite
  std::int64_t zero = 0;       // of these, those that are 0
  std::int64_t worst = -1;     // flat index of the wrong element with the largest error on the scale of its budget
  double expected = 0, got = 0, budget = 0;  // there
  double error_over_budget = 0;              // largest of all elements; infinity when something is not comparable
  bool official = true;                      // all |got - expected| <= t + t |expected|, t = OfficialTolerance()
  std::optional<std::string> unlike{};       // why the output as a whole is not what is expected (whole_output.h)
  bool right() const { return wrong == 0 && !unlike; }
};

struct PartCheck;  // element_check.h
OutputCheck ToOutputCheck(const PartCheck& whole);

// `got` are tensor.bytes() bytes. NaN is expected where the oracle has NaN, an infinity where it has the same one, and
// allowed where the budget reaches beyond the largest number of the tensor's type; an infinite budget allows everything
// but the poison, which no computation makes. `poison`: the 16-bit pattern that filled the tensor before the run.
OutputCheck CompareOutput(const Tensor& tensor, const void* got, const Expected& expected, std::uint16_t poison);

// Of whole numbers whose budget is infinite, which CompareOutput lets be anything: those are wrong that are more than
// `room` from what is expected and, if `distance` is given, further in value than its budget. Of the others those are
// that are more than `sure_room` from it and at any distance.
inline constexpr double kAnyRoom = std::numeric_limits<double>::infinity();
bool MayBeOpen(DType dtype);  // a truth value is one of two
OutputCheck CompareOpen(const Tensor& tensor, const void* got, const Expected& expected, double room,
                        const Expected* distance, double sure_room = kAnyRoom);

// How far from what is expected a whole number may be that rounding decides and that is no index: honest ones are off
// by `open_error`, and a number that is rounded by one.
double OpenRoom(double open_error);

struct NormCheck;  // element_check.h
// The same by the norm of the error, for inputs of which few are a thousand times larger than others.
NormCheck CompareNorm(const Tensor& tensor, const void* got, const Expected& expected, std::uint16_t poison);

// KernelBench's tolerance, absolute and relative: 1e-4, and 1e-2 for 16-bit types.
double OfficialTolerance(DType dtype);

// "y[3, 17]"
std::string ElementName(const Tensor& tensor, std::int64_t flat_index);
std::vector<std::int64_t> Unflatten(const Shape& shape, std::int64_t flat_index);

// The verdict that a wrong output makes; `draw` names the inputs.
Verdict WrongVerdict(const Tensor& tensor, const OutputCheck& check, const std::string& draw);

}  // namespace hone
