// Loop nests that fold over axes and then use what they folded: reduce, softmax and norm are made of these. Two shapes
// of nest:
//
//   rows     the innermost dimension is folded: one row after the other, several accumulators side by side
//   columns  the innermost dimension stays: blocks of columns, accumulators for a whole block, streaming down the rows
//
// and, where there are fewer rows or blocks than threads, a split: the folded range is cut into chunks whose partial
// results are combined at the end, in the order of the chunks, so that the result does not depend on the number of
// threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cpu/writer.h"
#include "dsl/family.h"
#include "dsl/fold_pass.h"
#include "dsl/kernel.h"
#include "dsl/loops.h"

namespace hone::dsl {

bool FoldsOneRange(const Kernel& kernel);  // the folded dimensions are one in memory

// Passes in order, then `result`: an expression over the whole space if the family keeps its axes, else over the
// result's dimensions. Reads the settings threads, accumulators, columns, split and, of families that keep their axes,
// prefetch.
void EmitFolds(const KernelProgram& program, const Kernel& kernel, Writer& writer, const std::vector<FoldPass>& passes,
               const Expr& result);

// Knobs of all families that fold.
std::vector<Setting> AccumulatorsValues(const Kernel& kernel, const Limits& limits);
std::optional<std::string> CheckAccumulators(const Kernel& kernel, const Setting& value);
std::vector<Setting> ColumnsValues(const Kernel& kernel, const Limits& limits);
std::optional<std::string> CheckColumns(const Kernel& kernel, const Setting& value);
std::vector<Setting> SplitValues(const Kernel& kernel, const Limits& limits);
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldPrefetchValues(const Kernel& kernel, const Limits& limits);
std::optional<std::string> CheckFoldPrefetch(const Kernel& kernel, const Setting& value);
inline constexpr Knob kAccumulatorsKnob{"accumulators",
                                        "independent sums a row (or rows added at a time): hides the adder's latency",
                                        &AccumulatorsValues, &CheckAccumulators};
inline constexpr Knob kColumnsKnob{"columns", "columns of a block, where the innermost dimension is not folded",
                                   &ColumnsValues, &CheckColumns};
inline constexpr Knob kSplitKnob{"split",
                                 "chunks into which the folded range is cut, for more threads than rows; 1 = whole",
                                 &SplitValues, &CheckSplit};
inline constexpr Knob kFoldPrefetchKnob{
    "prefetch", "what is asked for from memory meanwhile: row, the next row; ahead, what lies 2 KiB ahead; no, nothing",
    &FoldPrefetchValues, &CheckFoldPrefetch};

}  // namespace hone::dsl
