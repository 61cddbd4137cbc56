// Knobs that several families have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"

namespace hone::dsl {

Setting Whole(std::int64_t value);
Setting Word(std::string value);
Setting Tuple(std::vector<std::int64_t> value);

// `threads`: 0 = all that the caller allows.
std::vector<Setting> ThreadsValues(const Kernel& kernel);
std::optional<std::string> CheckThreads(const Kernel& kernel, const Setting& value);
// Of kernels that do `flops` operations.
std::vector<Setting> ThreadsFor(const Kernel& kernel, double flops);
inline constexpr Knob kThreadsKnob{"threads", "how many threads share the work, 0 = all that the caller allows",
                                   &ThreadsValues, &CheckThreads};

// `vector`: bytes of the compiler's vectors.
std::vector<Setting> VectorValues(const Kernel& kernel);
std::optional<std::string> CheckVector(const Kernel& kernel, const Setting& value);
inline constexpr Knob kVectorKnob{"vector", "bytes of the compiler's own vectors, 32 or 64", &VectorValues,
                                  &CheckVector};

// A check that the value is a whole number from `low` to `high`.
std::optional<std::string> CheckRange(const Setting& value, std::int64_t low, std::int64_t high);
// A check that the value is one of these words.
std::optional<std::string> CheckWord(const Setting& value, std::initializer_list<std::string_view> words);

double SpaceCount(const Kernel& kernel);        // elements of the iteration space
double OperationsPerElement(const Expr& expr);  // arithmetic of one evaluation, a libm call counts as 20

}  // namespace hone::dsl
