// What ways to fold the rows of a product on CUDA have in common whose warps have all rows of A in shared memory and
// take columns of B sixteen at a time: what they need of the operands, the rows that stay, scores, the end of a task,
// and the second kernel where a batch's columns are in parts. Each way is a class of its own over ProductFold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Dimensions from the end of the space [batches.., M, N, K] of matmul_reduce.
inline constexpr std::size_t kFoldM = 3, kFoldN = 2, kFoldK = 1;
inline constexpr std::int64_t kFoldColumns = 16;  // that a warp takes at a time
inline constexpr std::int64_t kFoldBlock = 32;    // elements of K that four threads read at a time, 16 bytes each

inline std::int64_t FoldExtent(const Kernel& kernel, std::size_t from_end) {
  return kernel.space[kernel.space.size() - from_end].extent;
}
std::int64_t FoldBatches(const Kernel& kernel);
std::int64_t FoldTiles(const Kernel& kernel);  // of eight rows that stay
// Bytes of the rows that stay, padded to multiples of `depth` of K.
std::int64_t KeptBytes(const Kernel& kernel, std::int64_t depth);
// Why such a way cannot make the kernel, or nothing.
std::optional<std::string> WhyNoProductFold(const Kernel& kernel);

// The condition under which a column counts, whatever the products with it are; `counts` says whether it is that or its
// opposite. Nothing if all count.
struct ColumnMask {
  Expr condition;
  bool counts = true;
  Expr score;  // of those that do
};
std::optional<ColumnMask> ColumnMaskOf(const Kernel& kernel);

// `split`: as few parts as give `warps` warps a multiprocessor something to do.
std::vector<Setting> FoldSplits(const Kernel& kernel, std::int64_t warps);
inline constexpr const char* kFoldSplitDoc =
    "parts of a batch's columns, which warps of their own fold and a second kernel puts together";

// Of the settings `split` and `warps`: tasks of all batches; warps that the device has at a time; and steps of the
// shortest task, with so many elements of K in each.
struct FoldTasks {
  std::int64_t tasks, warps, least_steps;
};
FoldTasks FoldTasksOf(const Kernel& kernel, std::int64_t slice);

class ProductFold {
 public:
  ProductFold(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t slice);

 protected:
  // Before a kernel: what all of it needs.
  void Begin();
  // Lines that declare the thread's place. `column`: which of a step's first eight columns, and of its last eight, are
  // the thread's; every four neighbours have one.
  void OpenLane(const std::string& column = "lane / 4");
  // Lines that put the rows that stay into `kept`, and declare what the thread folds.
  void KeepRows();
  // The function `after` from a step to the warp's next. With `ahead` at least one step in front of it and less than
  // a task, tasks may be drawn: `after(ahead, true)` draws one, which `after(step, false)` takes up.
  void After(bool drawn = false);
  // The lines that fold the products `sums` of a step's columns, `rows.wanted` of which count; and those that end a
  // task behind its last step.
  void FoldScores(const std::vector<std::string>& batches);
  void EndTask(const std::vector<std::string>& batches);
  void Clear(const std::string& name, const std::string& value);
  // Launches what has been written, with so much shared memory, and the second kernel if there is one. `columns`: the
  // map `columns_map` by which it reads them, instead of their address.
  void Launch(std::int64_t shared_bytes, const std::optional<TensorMapArgument>& columns = std::nullopt);

  // The first of the sixteens of a task, and the one behind its last.
  std::string BeginOf(const std::string& task) const;
  std::string EndOf(const std::string& task) const;
  // Lines that say the place of a step's task in each batch dimension: their names, "0" for an extent of 1.
  std::vector<std::string> Batch();

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  std::int64_t rows_, columns_, depth_, tiles_, warps_;
  std::int64_t slice_, slices_;                     // of K: elements that a step has, how many of them there are
  std::int64_t part_ = 1, splits_ = 1, tasks_ = 1;  // sixteens of a part; parts of a batch; of all batches
  Expr score_;
  std::optional<ColumnMask> mask_;
  std::string how_, neutral_, type_;

 private:
  void PutTogether();
  void Write(const std::vector<std::string>& batches, const std::string& batch);
  std::vector<std::string> Decomposed(const std::string& of);

  std::string partial_, counter_;  // counter: of the tasks handed out, where they are drawn
};

}  // namespace hone::dsl
