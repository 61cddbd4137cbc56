// The oracle of a graph for a device: the same element definitions and number types as on the host (loop_nest.h), as
// kernels and the order in which they run. oracle/device_oracle.h runs them.
//
//   many results         a thread makes a result, with all that it adds up
//   of many products     a block makes a tile of them (product_tiles.h), on tensor cores that multiply doubles
//   few, of long sums    a block makes a result; or several blocks, whose parts a second kernel puts together
//   scans                a thread goes along the steps of its own elements
//   other sequences      kernels at every step
//   folds by keys        kernels before them sort the terms by their keys (key_lists.h); a block takes a list that is
//                        much longer than the others
//   places in an order   kernels before them sort the rows (sorted_ranks.h)
//
// So sums are taken in another order than on the host, as any right implementation may; only honest ones are in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "oracle/key_lists.h"

namespace hone {

// Roundoff of what a kernel multiplies, and of the products where its sums keep less of them than they are; 0: all. How
// many of them tensor cores add up at a time, where they are what PyTorch takes: each time they cut the sum off.
struct ProductUnits {
  double operand = 0, product = 0;
  int cut_terms = 0;
  friend bool operator==(const ProductUnits&, const ProductUnits&) = default;
};

struct CudaNests {
  // Values that a kernel leaves for others. Bytes of an element in the tracked pass and in the honest one.
  struct Memory {
    std::int64_t elements = 0;
    int tracked_bytes = 0, honest_bytes = 0;
    std::int64_t MostBytes() const { return elements * std::max(tracked_bytes, honest_bytes); }
  };
  struct Argument {
    enum class Kind { kInput, kMemory, kValue, kScale, kScratch } kind = Kind::kInput;
    int index = 0;  // of Problem::Inputs(), of `memories`, of Problem::Outputs(); scratch has none
  };
  struct Launch {
    int kernel = 0;
    // Pointers; behind them come int64s, the step and which of `count` are wanted, from one up to another, and then the
    // numbers.
    std::vector<Argument> arguments;
    std::vector<std::int32_t> numbers = {};  // as many KernelNumbers (kernel_number.h) in one
    std::int64_t count = 0;                  // of what a thread makes, or a block
    bool by_blocks = false;
    int threads = 0;
    std::int64_t scratch_bytes = 0;  // for this launch and the next
    std::int64_t Blocks(std::int64_t wanted) const;
  };
  // Into how many parts what a run makes falls, one behind the other, each made of the same part of all memories that
  // it reads but these.
  struct Split {
    std::int64_t parts = 1;
    std::vector<int> across;
  };
  // The launches in order, at every step again; then nobody needs the memories in `done` any more.
  struct Run {
    std::vector<Launch> launches;
    std::int64_t steps = 1;
    bool reversed = false;
    std::vector<int> done;
    std::vector<Split> splits = {};
  };
  struct Kernel {
    std::string name;  // of a template: its instances are name<Tracked> and name<honest>
    std::string comment, parameters, body;
    ProductUnits units = {};
    bool multiplies = false;  // and so does not do with other units
    int numbers = 0;          // that stages of its form differ in
    std::string Text() const;
  };
  std::string standard, head;     // what every kernel needs before it; the units of roundoff stand between the two
  double unit = 0, smallest = 0;  // of ordinary operations
  std::vector<Kernel> kernels;
  std::string honest;  // "Honest<float>"
  std::vector<Memory> memories;
  std::vector<Run> runs;

  // Kernels [first, end), for NVRTC, which must not contract into fused multiply-adds. All have the same units.
  std::string Source(std::size_t first, std::size_t end) const;
};

// What the contract `torch` means for convolutions and recurrent layers of f32, and for products of reals of 8 bits:
// PyTorch's defaults make them in f32 on a processor; on a device in TF32, and by the tensor cores for 8 bits.
enum class TorchProducts : std::uint8_t { kF32, kTf32 };
// Stages of at least `fewest_looks` looks at terms list them by their keys.
CudaNests WriteCudaNests(const Graph& graph, TorchProducts products = TorchProducts::kF32,
                         std::int64_t fewest_looks = kLooksWorthLists);

}  // namespace hone
