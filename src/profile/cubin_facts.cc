#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profile/kernel_facts.h"

namespace hone {
namespace {

using cuda::Instruction;
using cuda::Loop;
using cuda::Unit;

// How often a loop's body is taken to be carried out. Nobody knows from the text; what counts is that loops outweigh
// what stands before and after them.
constexpr double kTimes = 8;
constexpr int kDepths = 3;
// Facts that rest on it.
constexpr double kWeighted = 0.7;

constexpr int kLoadWidths[] = {1, 2, 4, 8, 16};

bool IsGlobal(const Instruction& one) { return one.unit == Unit::kGlobalLoad || one.unit == Unit::kGlobalStore; }

class Reader {
 public:
  Reader(const cuda::KernelFacts& kernel, const DeviceModel& device)
      : kernel_(kernel), device_(device), code_(kernel.code), loops_(cuda::LoopsOf(code_)), weights_(code_.size(), 1) {
    std::vector<int> depths(code_.size(), 0);
    for (const Loop& loop : loops_) {
      for (std::size_t i = loop.begin; i < loop.end; ++i) ++depths[i];
    }
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (code_[i].name == "NOP") {
        weights_[i] = 0;
      } else {
        weights_[i] = std::pow(kTimes, std::min(depths[i], kDepths));
        ++instructions_;
      }
      total_ += weights_[i];
    }
  }

  void Add(Profile& profile) const {
    const auto set = [&](std::string_view name, double value, double confidence = 1) {
      profile.Set(name, value, FactSource::kCubin, confidence);
    };
    set("registers", kernel_.registers);
    set("stack_bytes", kernel_.stack_bytes);
    set("spill_store_bytes", kernel_.spill_store_bytes);
    set("spill_load_bytes", kernel_.spill_load_bytes);
    set("static_shared_bytes", kernel_.static_shared_bytes);
    set("barriers", kernel_.barriers);
    if (kernel_.max_threads > 0) set("max_threads", kernel_.max_threads);
    set("instructions", instructions_);
    set("text_bytes", 16 * static_cast<double>(code_.size()));
    set("loops", static_cast<double>(loops_.size()));
    if (instructions_ == 0) return;

    const auto count = [&](auto&& is) { return static_cast<double>(std::count_if(code_.begin(), code_.end(), is)); };
    const auto of = [&](Unit unit) { return count([=](const Instruction& one) { return one.unit == unit; }); };
    const auto named = [&](std::string_view name) {
      return count([=](const Instruction& one) { return one.name == name; });
    };
    for (const int width : kLoadWidths) {
      for (const auto& [prefix, unit] : {std::pair{"loads_", Unit::kGlobalLoad}, {"stores_", Unit::kGlobalStore}})
        set(prefix + std::to_string(width),
            count([&, u = unit](const Instruction& one) { return one.unit == u && one.bytes == width; }));
    }
    set("bulk_copies", of(Unit::kBulk));
    set("tensor_instructions", of(Unit::kTensor) + of(Unit::kTensors));
    set("wgmma_instructions", of(Unit::kTensors));
    set("single_fused", of(Unit::kSingleFused));
    set("single_unfused", of(Unit::kSingleAdd));
    set("double_instructions", of(Unit::kDouble));
    set("barrier_instructions", of(Unit::kBarrier));
    set("atomics", of(Unit::kAtomic));
    set("shuffles", of(Unit::kShuffle));
    // A division by what is not known when compiling: the reciprocal in f32, turned into an integer and corrected.
    set("divisions", std::min({named("I2F"), named("F2I"), of(Unit::kSpecial), named("IMAD.HI")}));

    AddShares(profile);
    AddWidths(profile);
    AddLoops(profile);
    AddInFlight(profile);
  }

 private:
  template <class Is>
  double Weight(const Is& is) const {
    double sum = 0;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (is(code_[i])) sum += weights_[i];
    }
    return sum;
  }
  double Weight(Unit unit) const {
    return Weight([=](const Instruction& one) { return one.unit == unit; });
  }

  void AddShares(Profile& profile) const {
    const auto share = [&](std::string_view name, double weight) {
      profile.Set(name, weight / total_, FactSource::kCubin, kWeighted);
    };
    share("spill_share", Weight([](const Instruction& one) { return one.spill; }));
    share("local_share", Weight([](const Instruction& one) { return one.unit == Unit::kLocal && !one.spill; }));
    share("double_share", Weight(Unit::kDouble));
    share("tensor_share", Weight(Unit::kTensor) + Weight(Unit::kTensors));
    share("integer_share", Weight(Unit::kInteger));
    share("conversion_share", Weight(Unit::kConvert));
    share("special_share", Weight(Unit::kSpecial));
    share("slow_share", Weight(Unit::kConvert) + Weight(Unit::kSpecial));
    share("predicated_share",
          Weight([](const Instruction& one) { return one.predicated && one.unit != Unit::kBranch; }));
    const double fused = Weight(Unit::kSingleFused), unfused = Weight(Unit::kSingleAdd);
    double work = 0;
    for (const Unit unit : {Unit::kSingleAdd, Unit::kSingleFused, Unit::kSingleOther, Unit::kDouble, Unit::kHalf,
                            Unit::kTensor, Unit::kTensors, Unit::kSpecial, Unit::kAtomic, Unit::kConvert})
      work += Weight(unit);
    share("work_share", work);
    share("single_share", fused + unfused + Weight(Unit::kSingleOther));
    if (fused + unfused > 0) profile.Set("unfused_share", unfused / (fused + unfused), FactSource::kCubin, kWeighted);
  }

  void AddWidths(Profile& profile) const {
    double accesses = 0, bytes = 0, wide = 0, loaded = 0;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (!IsGlobal(code_[i])) continue;
      accesses += weights_[i];
      bytes += weights_[i] * code_[i].bytes;
      if (code_[i].unit == Unit::kGlobalLoad) loaded += weights_[i] * code_[i].bytes;
      if (code_[i].bytes >= 16) wide += weights_[i] * code_[i].bytes;
    }
    if (bytes <= 0) return;
    profile.Set("wide_access_share", wide / bytes, FactSource::kCubin, kWeighted);
    profile.Set("load_share", loaded / bytes, FactSource::kCubin, kWeighted);
    profile.Set("access_bytes", bytes / accesses, FactSource::kCubin, kWeighted);
    if (Weight(Unit::kTensors) > 0 || Weight(Unit::kBulk) > 0) return;  // how much they do the text does not say
    const double clock = 1e6 * device_.clock_mhz, bandwidth = profile.Get("bandwidth").value_or(0);
    if (clock <= 0 || bandwidth <= 0) return;
    constexpr double kThreadsAClock = 4 * 32;  // of a multiprocessor: a warp for each of its schedulers
    const double issue = total_ / (kThreadsAClock * device_.multiprocessors * clock), memory = bytes / bandwidth;
    profile.Set("issue_to_memory", issue / memory, FactSource::kCubin, 0.6);
  }

  void AddLoops(Profile& profile) const {
    double most = 0, barriers = 0, share = 0;
    for (const Loop& loop : loops_) {
      if (!loop.innermost) continue;
      double inside = 0, waits = 0;
      for (std::size_t i = loop.begin; i < loop.end; ++i) {
        inside += code_[i].name != "NOP";
        waits += code_[i].unit == Unit::kBarrier;
      }
      most = std::max(most, inside);
      if (waits > barriers) {
        barriers = waits;
        share = waits / inside;
      }
    }
    if (most > 0) profile.Set("loop_instructions", most, FactSource::kCubin);
    profile.Set("loop_barriers", barriers, FactSource::kCubin);
    if (barriers > 0) profile.Set("loop_barrier_share", share, FactSource::kCubin);
  }

  struct InFlight {
    double loads = 0, bytes = 0;
  };

  // What is on the way at most when a thread waits for a part of it. A loop is gone through twice: what it loads ahead
  // is waited for in the next round.
  InFlight InFlightIn(std::size_t begin, std::size_t end, int rounds) const {
    std::map<int, InFlight> pending;  // by scoreboard
    InFlight now, most;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = begin; i < end; ++i) {
        const Instruction& one = code_[i];
        for (int scoreboard = 0; scoreboard < 6; ++scoreboard) {
          const auto it = pending.find(scoreboard);
          if ((one.waits >> scoreboard & 1) == 0 || it == pending.end()) continue;
          if (now.loads > most.loads) most = now;
          now.loads -= it->second.loads;
          now.bytes -= it->second.bytes;
          pending.erase(it);
        }
        if (one.unit != Unit::kGlobalLoad || one.announces < 0) continue;
        for (auto* sum : {&now, &pending[one.announces]}) {
          sum->loads += 1;
          sum->bytes += one.bytes;
        }
      }
    }
    return now.loads > most.loads ? now : most;
  }

  void AddInFlight(Profile& profile) const {
    if (Weight(Unit::kGlobalLoad) <= 0) return;
    // Where most of the loads are carried out: the loop, or all of the text, with the greatest weight of loads.
    InFlight found;
    double heaviest = 0;
    const auto look = [&](std::size_t begin, std::size_t end, int rounds) {
      double weight = 0;
      for (std::size_t i = begin; i < end; ++i) weight += code_[i].unit == Unit::kGlobalLoad ? weights_[i] : 0;
      if (weight <= heaviest) return;
      heaviest = weight;
      found = InFlightIn(begin, end, rounds);
    };
    for (const Loop& loop : loops_) {
      if (loop.innermost) look(loop.begin, loop.end, 2);
    }
    if (heaviest <= 0) look(0, code_.size(), 1);
    profile.Set("loads_in_flight", found.loads, FactSource::kCubin, kWeighted);
    profile.Set("bytes_in_flight", found.bytes, FactSource::kCubin, kWeighted);
  }

  const cuda::KernelFacts& kernel_;
  const DeviceModel& device_;
  const std::vector<Instruction>& code_;
  const std::vector<Loop> loops_;
  std::vector<double> weights_;
  double total_ = 0;
  int instructions_ = 0;
};

}  // namespace

void AddCubinFacts(Profile& profile, const cuda::KernelFacts& kernel, const DeviceModel& device) {
  Reader(kernel, device).Add(profile);
}

}  // namespace hone
