#include "profile/facts.h"

#include <algorithm>

#include "base/record.h"

namespace hone {
namespace {

// Metrics of time are in nanoseconds, shares of a peak in percent.
constexpr double kNano = 1e-3, kPercent = 1e-2;
// What a warp's waits are shares of.
constexpr std::string_view kLatency = "smsp__average_warp_latency_per_inst_issued.ratio";

// Shares of a kernel's instructions are of those that are carried out, as far as the text says: an instruction counts
// eight times for each loop that it is in, up to three.
constexpr FactName kFacts[] = {
    // --- The cubin.
    {"registers", FactUnit::kCount, "registers a thread"},
    {"stack_bytes", FactUnit::kBytes, "stack of a thread"},
    {"spill_store_bytes", FactUnit::kBytes, "stored by all spilling instructions of the text, each once"},
    {"spill_load_bytes", FactUnit::kBytes, "loaded by all spilling instructions of the text, each once"},
    {"spill_share", FactUnit::kShare, "instructions that spill registers or fetch them back"},
    {"local_share", FactUnit::kShare,
     "other instructions on a thread's own memory: arrays with an index that is not known"},
    {"static_shared_bytes", FactUnit::kBytes, "static shared memory of a block"},
    {"barriers", FactUnit::kCount, "barriers that a block has"},
    {"max_threads", FactUnit::kCount, "threads a block by __launch_bounds__"},
    {"instructions", FactUnit::kCount, "instructions of the text, each once, without NOPs"},
    {"text_bytes", FactUnit::kBytes, "the kernel's machine code"},
    {"loops", FactUnit::kCount, "loops of the text"},
    {"loop_instructions", FactUnit::kCount, "instructions of the innermost loop that holds the most of them"},
    {"loads_1", FactUnit::kCount, "global loads of 1 byte a thread in the text"},
    {"loads_2", FactUnit::kCount, "of 2 bytes"},
    {"loads_4", FactUnit::kCount, "of 4 bytes"},
    {"loads_8", FactUnit::kCount, "of 8 bytes"},
    {"loads_16", FactUnit::kCount, "of 16 bytes"},
    {"stores_1", FactUnit::kCount, "global stores of 1 byte a thread in the text"},
    {"stores_2", FactUnit::kCount, "of 2 bytes"},
    {"stores_4", FactUnit::kCount, "of 4 bytes"},
    {"stores_8", FactUnit::kCount, "of 8 bytes"},
    {"stores_16", FactUnit::kCount, "of 16 bytes"},
    {"wide_access_share", FactUnit::kShare, "of the bytes of global loads and stores, those moved 16 at a time"},
    {"access_bytes", FactUnit::kBytes, "mean width of global loads and stores, by instructions carried out"},
    {"load_share", FactUnit::kShare, "of the bytes of global loads and stores, those that are loaded"},
    {"bulk_copies", FactUnit::kCount, "copies in the text that run on by themselves: cp.async, TMA"},
    {"loads_in_flight", FactUnit::kCount, "global loads that a thread has on the way at most before it waits for one"},
    {"bytes_in_flight", FactUnit::kBytes, "what those loads bring"},
    {"tensor_instructions", FactUnit::kCount, "products on tensor cores in the text: mma.sync and wgmma"},
    {"wgmma_instructions", FactUnit::kCount, "those of warpgroups"},
    {"single_fused", FactUnit::kCount, "fused multiply-adds in f32 in the text"},
    {"single_unfused", FactUnit::kCount, "additions and products in f32 in the text"},
    {"unfused_share", FactUnit::kShare,
     "of the arithmetic in f32, additions and products that could be fused in pairs"},
    {"work_share", FactUnit::kShare,
     "instructions that compute: arithmetic of reals, products, special functions, atomics"},
    {"single_share", FactUnit::kShare, "instructions of f32 arithmetic"},
    {"double_share", FactUnit::kShare, "instructions of f64 arithmetic"},
    {"double_instructions", FactUnit::kCount, "instructions of f64 arithmetic in the text"},
    {"tensor_share", FactUnit::kShare, "products on tensor cores"},
    {"integer_share", FactUnit::kShare, "instructions of integers: indices, mostly"},
    {"conversion_share", FactUnit::kShare, "conversions between types"},
    {"special_share", FactUnit::kShare, "reciprocals, roots, exponentials and the like"},
    {"slow_share", FactUnit::kShare, "both together: what one slow unit does"},
    {"predicated_share", FactUnit::kShare, "instructions that only some threads may do, branches apart"},
    {"divisions", FactUnit::kCount, "divisions of integers that the text carries out in a loop or for each element"},
    {"barrier_instructions", FactUnit::kCount, "barriers in the text"},
    {"loop_barriers", FactUnit::kCount, "barriers of the innermost loop that has the most"},
    {"loop_barrier_share", FactUnit::kShare, "of that loop's instructions"},
    {"atomics", FactUnit::kCount, "atomic operations in the text"},
    {"shuffles", FactUnit::kCount, "exchanges between the threads of a warp in the text"},
    {"issue_to_memory", FactUnit::kRatio,
     "the time that issuing the instructions takes, to that of the bytes they load and store"},
    // --- The code of a module for the processor, in loops.
    {"scalar_share", FactUnit::kShare, "of the arithmetic of reals, what computes one at a time"},
    {"vector_bytes", FactUnit::kBytes, "mean width of the vectors that the rest computes in"},
    {"machine_vector_bytes", FactUnit::kBytes, "widest vector of the processor"},
    {"vector_width_share", FactUnit::kShare, "vector_bytes to machine_vector_bytes"},
    {"gather_share", FactUnit::kShare, "loads that fetch each element of a vector from its own place"},
    {"slow_division_share", FactUnit::kShare, "of the arithmetic of reals, divisions and roots"},
    {"loop_calls", FactUnit::kCount, "calls of functions within loops"},
    // --- The launch.
    {"blocks", FactUnit::kCount, "of the grid"},
    {"block_threads", FactUnit::kCount, "of a block"},
    {"cluster_blocks", FactUnit::kCount, "of a cluster"},
    {"shared_bytes", FactUnit::kBytes, "shared memory of a block, static and dynamic"},
    {"resident_blocks", FactUnit::kCount, "blocks that a multiprocessor holds"},
    {"occupancy", FactUnit::kShare, "of a multiprocessor's warps, those that it holds"},
    {"occupancy_limit", FactUnit::kWord, "what ends it: registers, shared memory, warps or blocks"},
    {"registers_to_gain", FactUnit::kCount, "registers a thread with which a multiprocessor holds one block more"},
    {"shared_to_gain", FactUnit::kBytes, "shared memory of a block with which it holds one more"},
    {"waves", FactUnit::kRatio, "blocks to all that the device holds at once"},
    {"tail_share", FactUnit::kShare, "of the time of all waves, what the last one leaves idle"},
    {"multiprocessors", FactUnit::kCount, "of the device"},
    {"busy_multiprocessors", FactUnit::kShare, "of the multiprocessors, those that get a block"},
    // --- Analysis.
    {"problem_flops", FactUnit::kFlops, "of the whole problem, by its cheapest order of summation"},
    {"problem_bytes", FactUnit::kBytes, "that the problem has to move at least"},
    {"bytes_limit_us", FactUnit::kMicroseconds, "that moving these bytes takes at the device's ceiling"},
    {"flops_limit_us", FactUnit::kMicroseconds, "that these FLOPs take at the ceiling of what the contract allows"},
    {"bound_us", FactUnit::kMicroseconds, "the larger of the two: the speed of light"},
    {"bandwidth", FactUnit::kPerSecond, "bytes that the device reads and writes in a second"},
    {"launch_us", FactUnit::kMicroseconds, "that a launch takes at least"},
    {"launches", FactUnit::kCount, "steps of a run"},
    {"step_flops", FactUnit::kFlops, "of a statement, as its family counts them"},
    {"step_bytes", FactUnit::kBytes, "of the tensors and buffers that the step names, each once"},
    {"step_limit_us", FactUnit::kMicroseconds, "that moving these takes at the ceiling"},
    {"tensor_steps", FactUnit::kCount, "steps of a run with products on tensor cores, a library's among them"},
    {"product_share", FactUnit::kShare, "of the problem's FLOPs, those of sums of products"},
    {"vector_limit_us", FactUnit::kMicroseconds, "that the problem's FLOPs take without tensor cores"},
    {"l2_bytes", FactUnit::kBytes, "the device's L2 cache"},
    {"launch_share", FactUnit::kShare, "of what launches and the bound take together, launches"},
    {"handed_on_share", FactUnit::kShare, "of plan_bytes, handed_on_bytes"},
    {"read_again_share", FactUnit::kShare, "of plan_bytes, read_again_bytes"},
    {"plan_bytes", FactUnit::kBytes, "of the tensors and buffers that steps name, once a step"},
    {"plan_limit_us", FactUnit::kMicroseconds, "that moving these takes at the ceiling"},
    {"handed_on_bytes", FactUnit::kBytes, "that steps write and later ones read, both ways"},
    {"handed_on_most", FactUnit::kWord, "the buffer with the most of them"},
    {"read_again_bytes", FactUnit::kBytes, "of inputs and parameters, what more than one step reads"},
    {"product_bits", FactUnit::kCount,
     "of mantissa, in which the plan's most exact product is made, as far as a library makes it"},
    {"contract_bits", FactUnit::kCount, "of mantissa that the contract asks of products"},
    {"excess_bits", FactUnit::kCount, "product_bits beyond contract_bits"},
    {"way", FactUnit::kWord, "the kernel by which a statement of the language is computed"},
    {"way_knob", FactUnit::kWord, "the setting that chooses it"},
    {"other_way", FactUnit::kWord, "the best of the others that can make the statement"},
    {"way_cost", FactUnit::kRatio, "how many times as long as the device's limits allow, as the way says"},
    {"other_way_cost", FactUnit::kRatio, "the same of the other"},
    {"way_cost_ratio", FactUnit::kRatio, "the first to the second"},
    {"whole_tensors", FactUnit::kCount, "tensors of the problem that hold integers or truth values"},
    {"double_tensors", FactUnit::kCount, "tensors of the problem that hold f64"},
    {"contract", FactUnit::kWord, "how accurate: fp32, tf32, bf16, fp16, fp64 or torch"},
    // --- Counters of a device: what CUPTI counts, set by set, and what follows from it.
    {"replay_us", FactUnit::kMicroseconds, "that the kernel takes alone on the device, while it is counted",
     "gpu__time_duration.sum", CounterSet::kTriage, kNano},
    {"cycles", FactUnit::kCount, "of a multiprocessor, from its beginning to its end", "sm__cycles_elapsed.max",
     CounterSet::kTriage},
    {"busy_cycles", FactUnit::kCount, "of them, those in which a multiprocessor has a warp, on average",
     "sm__cycles_active.avg", CounterSet::kTriage},
    {"dram_read_bytes", FactUnit::kBytes, "read from the device's memory", "dram__bytes_read.sum", CounterSet::kTriage},
    {"dram_write_bytes", FactUnit::kBytes, "written to it", "dram__bytes_write.sum", CounterSet::kTriage},
    {"dram_busy", FactUnit::kShare, "of the peak of the device's memory",
     "dram__throughput.avg.pct_of_peak_sustained_elapsed", CounterSet::kTriage, kPercent},
    {"issue_busy", FactUnit::kShare, "cycles in which a scheduler with warps issues an instruction",
     "smsp__issue_active.avg.per_cycle_active", CounterSet::kTriage},
    {"warps_busy", FactUnit::kShare, "of a multiprocessor's warps, those that it had, on average",
     "sm__warps_active.avg.pct_of_peak_sustained_active", CounterSet::kTriage, kPercent},
    {"warp_instructions", FactUnit::kCount, "instructions carried out, once a warp", "smsp__inst_executed.sum",
     CounterSet::kTriage},
    {"tensor_busy", FactUnit::kShare, "of the peak of the tensor cores",
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", CounterSet::kTriage, kPercent},
    {"fma_busy", FactUnit::kShare, "of the peak of multiply-adds",
     "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", CounterSet::kStandard, kPercent},
    {"alu_busy", FactUnit::kShare, "of the peak of integers and comparisons",
     "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed", CounterSet::kStandard, kPercent},
    {"double_busy", FactUnit::kShare, "of the peak of f64",
     "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed", CounterSet::kStandard, kPercent},
    {"special_busy", FactUnit::kShare, "of the peak of special functions",
     "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", CounterSet::kStandard, kPercent},
    {"lsu_busy", FactUnit::kShare, "of the peak of loads and stores",
     "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", CounterSet::kStandard, kPercent},
    {"load_sector_bytes", FactUnit::kBytes, "of each sector of 32 that loads fetch, what they use",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", CounterSet::kStandard},
    {"store_sector_bytes", FactUnit::kBytes, "of each sector of 32 that stores touch, what they fill",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", CounterSet::kStandard},
    {"shared_conflicts", FactUnit::kCount, "passes that bank conflicts add when shared memory is loaded",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", CounterSet::kStandard},
    {"shared_passes", FactUnit::kCount, "all passes of these loads",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", CounterSet::kStandard},
    {"l2_hits", FactUnit::kCount, "sectors found in L2", "lts__t_sectors_lookup_hit.sum", CounterSet::kStandard},
    {"l2_misses", FactUnit::kCount, "sectors not found there", "lts__t_sectors_lookup_miss.sum", CounterSet::kStandard},
    {"active_threads", FactUnit::kCount, "of the 32 of a warp, those that take part in an instruction",
     "smsp__thread_inst_executed_per_inst_executed.ratio", CounterSet::kStandard},
    {"warp_latency", FactUnit::kCount, "cycles that a warp takes for an instruction", kLatency, CounterSet::kStandard},
    {"stall_memory", FactUnit::kShare, "of the time that warps wait, for memory",
     "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_barrier", FactUnit::kShare, "at barriers",
     "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_products", FactUnit::kShare, "for products of warpgroups",
     "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_shared", FactUnit::kShare, "for shared memory and special functions",
     "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_units", FactUnit::kShare, "for an arithmetic unit that is busy",
     "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_fixed", FactUnit::kShare, "for the result of the instruction before",
     "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_queue", FactUnit::kShare, "for room in the queue of loads and stores",
     "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", CounterSet::kStandard, 1, kLatency},
    {"stall_shared_queue", FactUnit::kShare, "for room in the queue of shared memory and special functions",
     "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", CounterSet::kAll, 1, kLatency},
    {"stall_fence", FactUnit::kShare, "at fences", "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
     CounterSet::kAll, 1, kLatency},
    {"stall_fetch", FactUnit::kShare, "for instructions",
     "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio", CounterSet::kAll, 1, kLatency},
    {"stall_drain", FactUnit::kShare, "at their end, for stores",
     "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio", CounterSet::kAll, 1, kLatency},
    {"longest_cycles", FactUnit::kCount, "busy_cycles of the multiprocessor with the most", "sm__cycles_active.max",
     CounterSet::kAll},
    {"warps_ready", FactUnit::kCount, "warps of a scheduler that could issue, on average",
     "smsp__warps_eligible.avg.per_cycle_active", CounterSet::kAll},
    {"chosen_threads", FactUnit::kCount, "of the 32 of a warp, those that an instruction is carried out for",
     "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", CounterSet::kAll},
    {"load_sectors", FactUnit::kCount, "sectors that global loads ask for",
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", CounterSet::kAll},
    {"load_requests", FactUnit::kCount, "global loads, once a warp", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
     CounterSet::kAll},
    {"store_sectors", FactUnit::kCount, "sectors that global stores touch",
     "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", CounterSet::kAll},
    {"store_requests", FactUnit::kCount, "global stores, once a warp",
     "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", CounterSet::kAll},
    {"local_load_sectors", FactUnit::kCount, "sectors that loads of threads' own memory ask for",
     "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", CounterSet::kAll},
    {"local_store_sectors", FactUnit::kCount, "sectors that stores to threads' own memory touch",
     "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", CounterSet::kAll},
    {"store_conflicts", FactUnit::kCount, "passes that bank conflicts add when shared memory is stored to",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", CounterSet::kAll},
    {"store_passes", FactUnit::kCount, "all passes of these stores",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", CounterSet::kAll},
    {"l2_reads", FactUnit::kCount, "sectors that L2 is asked to read", "lts__t_sectors_op_read.sum", CounterSet::kAll},
    {"l2_writes", FactUnit::kCount, "sectors that it is asked to write", "lts__t_sectors_op_write.sum",
     CounterSet::kAll},
    {"l2_atomics", FactUnit::kCount, "sectors of atomic operations that give a value back",
     "lts__t_sectors_op_atom.sum", CounterSet::kAll},
    {"l2_reductions", FactUnit::kCount, "sectors of those that do not", "lts__t_sectors_op_red.sum", CounterSet::kAll},
    {"wgmma_done", FactUnit::kCount, "products of warpgroups carried out, once a warp",
     "sm__inst_executed_pipe_tensor_op_gmma.sum", CounterSet::kAll},
    {"mma_done", FactUnit::kCount, "products of warps carried out, in 16 bits and tf32, once a warp",
     "sm__inst_executed_pipe_tensor_op_hmma.sum", CounterSet::kAll},
    {"fma_done", FactUnit::kCount, "multiply-adds in f32 carried out, once a thread",
     "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", CounterSet::kAll},
    {"add_done", FactUnit::kCount, "additions in f32", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
     CounterSet::kAll},
    {"mul_done", FactUnit::kCount, "products in f32", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
     CounterSet::kAll},
    {"conversions_done", FactUnit::kCount, "conversions", "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
     CounterSet::kAll},
    {"integers_done", FactUnit::kCount, "instructions of integers",
     "smsp__sass_thread_inst_executed_op_integer_pred_on.sum", CounterSet::kAll},
    {"loads_done", FactUnit::kCount, "global loads carried out, once a warp",
     "smsp__sass_inst_executed_op_global_ld.sum", CounterSet::kAll},
    {"tma_done", FactUnit::kCount, "loads by TMA", "smsp__inst_executed_op_tma_ld.sum", CounterSet::kAll},
    {"copies_done", FactUnit::kCount, "copies into shared memory that run on by themselves (cp.async)",
     "smsp__inst_executed_op_ldgsts.sum", CounterSet::kAll},
    {"samples", FactUnit::kCount, "of the program counters of its warps, by CUPTI"},
    {"top_stall", FactUnit::kWord, "why most of the sampled warps that waited did, as CUPTI calls it"},
    {"top_stall_share", FactUnit::kShare, "of the samples, those"},
    {"hot_share", FactUnit::kShare, "of the samples, those of the instruction at which the most wait for one reason"},
    {"hot_stall", FactUnit::kWord, "that reason"},
    {"hot_place", FactUnit::kWord, "that instruction, and the source line that it is of"},
    {"hot_for", FactUnit::kWord, "the instruction for whose result it waits"},
    {"worst_sector_bytes", FactUnit::kBytes, "the smaller of load_sector_bytes and store_sector_bytes"},
    {"conflict_share", FactUnit::kShare, "of shared_passes, shared_conflicts"},
    {"traffic_ratio", FactUnit::kRatio, "bytes that crossed the memory to step_bytes"},
    {"l2_hit_share", FactUnit::kShare, "of the sectors that L2 was asked for, those that it had"},
    {"idle_share", FactUnit::kShare, "of the cycles, those in which a multiprocessor has no warp, on average"},
    // --- Times.
    {"time_us", FactUnit::kMicroseconds, "that it takes, measured"},
    {"time_ratio", FactUnit::kRatio, "time_us to bound_us"},
    {"gap_us", FactUnit::kMicroseconds, "of a run, the time in which the device does nothing between two launches"},
    {"gap_share", FactUnit::kShare, "of time_us, gap_us"},
    {"overlap_us", FactUnit::kMicroseconds, "of a run, the time in which it does two things at once"},
    {"timed_parts", FactUnit::kCount, "kernels, memsets and copies of a run, as they were recorded"},
};

constexpr std::string_view kSets[] = {"triage", "standard", "all"};

}  // namespace

std::string_view Name(CounterSet set) { return kSets[static_cast<std::size_t>(set)]; }
std::optional<CounterSet> ParseCounterSet(std::string_view name) { return ParseName<CounterSet>(kSets, name); }

std::vector<std::string> MetricsOf(CounterSet set) {
  std::vector<std::string> metrics;
  const auto add = [&](std::string_view metric) {
    if (!metric.empty() && std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
      metrics.emplace_back(metric);
  };
  for (const FactName& fact : kFacts) {
    if (fact.counter.empty() || fact.set > set) continue;
    add(fact.counter);
    add(fact.over);
  }
  return metrics;
}

std::string_view Name(Scope scope) {
  constexpr std::string_view kNames[] = {"launch", "statement", "function", "plan"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::string_view Name(FactUnit unit) {
  constexpr std::string_view kNames[] = {"", "bytes", "share", "us", "FLOP", "bytes/s", "ratio", "word"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::span<const FactName> AllFacts() { return kFacts; }

const FactName* FindFact(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFacts), std::end(kFacts), [&](const FactName& fact) { return fact.name == name; });
  return found == std::end(kFacts) ? nullptr : found;
}

}  // namespace hone
