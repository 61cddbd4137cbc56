// What the ways of attention on CUDA share: where their operands lie, and what their scores are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/pages.h"
#include "dsl/shape/seen_keys.h"

namespace hone::dsl {

// The first dimensions of a query, a value, a key and a score from the end of the space [batches.., M, E | N, D].
inline constexpr std::size_t kAttentionM = 4, kAttentionE = 3, kAttentionN = 2, kAttentionD = 1;
// And before them, where keys are found by pages: the table's place, the page, the place in a page.
inline constexpr std::size_t kAttentionT = 7, kAttentionP = 6, kAttentionS = 5;
inline constexpr std::string_view kAttentionNames[] = {"q", "k", "v"};
inline constexpr double kLog2E = 1.4426950408889634;  // exponents are of 2

inline std::int64_t AttentionExtent(const Kernel& kernel, std::size_t from_end) {
  return kernel.space[kernel.space.size() - from_end].extent;
}

std::int64_t AttentionBatches(const Kernel& kernel);
// Lines that name the batch indices of the batch with the number `matrix`; "0" where there is one.
std::vector<std::string> OpenAttentionBatches(DeviceWriter& out, const Kernel& kernel);

// Of which types a way's operands are: f16 or bf16, keys and values of 8 bits as well (attention_held.h), or f32.
enum class AttentionOf : std::uint8_t { kHalves, kHeld, kF32 };
// Rows of q, k or v (`input` 0, 1, 2): `count` of `width` elements that lie side by side, `row` from one to the next,
// of pages those of one; all of them, in each batch, begin at multiples of 16 bytes.
struct AttentionRows {
  int buffer = -1;
  std::int64_t offset = 0, count = 1, width = 1, row = 0;
};
// A row of q or of k may be in two parts, an operand's each: `width` elements of it from `first` on.
struct AttentionPart {
  std::size_t operand = 0;
  std::int64_t first = 0, width = 1;
};
// Those of q, k or v; none where it is another expression. Of rows of 8 bits, what scales them is left out.
std::vector<AttentionPart> AttentionPartsOf(const Kernel& kernel, std::size_t input);
// Nothing where they do not lie so; `why` says it then. Of a part, or of an input that is in one.
std::optional<AttentionRows> AttentionRowsOf(const Kernel& kernel, std::size_t input, const AttentionPart& part,
                                             AttentionOf types, std::string& why);
std::optional<AttentionRows> AttentionRowsOf(const Kernel& kernel, std::size_t input, AttentionOf types,
                                             std::string& why);
// That all three are of one type, and computed with in f32; or why that is not so.
std::optional<std::string> CheckAttentionTypes(const Kernel& kernel);

// A score, of the product `it`, operands and the place.
Expr AttentionScoreOf(const Kernel& kernel);
// `score` times `factor`, which is positive: what multiplies all that is not hidden costs nothing where exponents are
// made. Of scores that are weights themselves nothing is taken out.
struct ScaledScore {
  Expr score;
  double factor = 1;
  bool IsProduct() const { return IsValue(score, kIt); }  // and nothing else
};
ScaledScore ScaledAttentionScoreOf(const Kernel& kernel);

// The policy of attention_numbers.cuh by which scores become weights.
std::string_view AttentionWeights(const Kernel& kernel);

// An expression as text, where each dimension of the space stands at `places`; `index` is the type that its addresses
// are computed in, "int" or "long". `held` names the operands' elements that are in registers: "" for what is not.
using HeldText = std::function<std::string(std::size_t operand)>;
std::string AttentionText(DeviceWriter& out, const Kernel& kernel, const Expr& expr,
                          const std::vector<std::string>& places, std::string_view index, const HeldText& held = {});
// Likewise of a score, which need not be exact where it is a weight that is rounded to 16 bits.
std::string AttentionScoreText(DeviceWriter& out, const Kernel& kernel, const Expr& score,
                               const std::vector<std::string>& places, std::string_view index,
                               const HeldText& held = {});
// The element of an operand at `places`, in memory.
std::string AttentionElement(const DeviceWriter& out, const Kernel& kernel, std::size_t operand,
                             const std::vector<std::string>& places, std::string_view index);

// What `it` is in the end, of the names of the sum of a row's values and that of their weights.
std::string AttentionResult(const Kernel& kernel, const std::string& sum, const std::string& total);
// A line that names what a row's weights add up to, where the end reads it; of a softmax, the logarithm of the sum of
// exponentials: of the row's largest score, in units of log2, and the sum of the weights over that.
void WriteRowSum(DeviceWriter& out, const Kernel& kernel, const std::string& most, const std::string& total);

// Lines that name `seen_from` and `seen_end`, between which all keys lie that the queries from `first` to `last` of the
// batch at `places` can see; all keys where `seen` has no limits.
void WriteSeenKeys(DeviceWriter& out, const Kernel& kernel, const SeenKeys& seen,
                   const std::vector<std::string>& places, const std::string& first, const std::string& last);
// The texts of two numbers, between which limits leave all keys to all of those queries, if there are any.
struct KeyTexts {
  std::string from, end;
};
KeyTexts KeysOfAllQueries(DeviceWriter& out, const Kernel& kernel, const SeenKeys& seen,
                          const std::vector<std::string>& places, const std::string& first, const std::string& last);
// In a score, whether a key is between all limits of its query: the name `shown`.
inline constexpr NamedValue kShown = {NamedValue::Kind::kText, 0};

// The address of an operand's element at `places`, in long; or of an input's that is in one part.
std::string AttentionPointer(const DeviceWriter& out, const KernelOperand& operand, std::vector<std::string> places);
std::string AttentionPointer(const DeviceWriter& out, const Kernel& kernel, std::size_t input,
                             const std::vector<std::string>& places);
// The place of the result's element at `places`, in long.
std::string AttentionPlace(const Kernel& kernel, const std::vector<std::string>& places);
// The launch reads the buffer, which is named once.
void AddRead(DeviceWriter::LaunchShape& launch, int buffer);

}  // namespace hone::dsl
