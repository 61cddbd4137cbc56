// What the rounds of a timing say: which turns count, and how fast one participant is beside another. Pure.
//
// A ratio is stated only where nothing disturbed either side. A turn is disturbed when the machine worked for others
// meanwhile or the device was slowed down (whoever adds the turn says so), or when it was far slower than the quiet
// ones. Stalls only add time: where most turns take twice as long as the fastest, the fastest is what is undisturbed.
// Nor is a ratio stated that the medians beside it contradict.
#pragma once

#include <string>
#include <vector>

#include "judge/timing.h"
#include "verdict/verdict.h"

namespace hone {

// One participant's turns.
class Turns {
 public:
  void Add(int round, Turn times, bool quiet = true);
  void DisturbSince(int round);  // the machine was not quiet in that round and all later ones
  bool empty() const { return turns_.empty(); }

  // Of the turns that count, or of all where none of those has any.
  Samples Warm() const { return Summarized(&Turn::warm_us); }
  Samples Cold() const { return Summarized(&Turn::cold_us); }
  Samples Dispatched() const { return Summarized(&Turn::dispatched_us); }
  std::vector<double> WarmSamples() const { return Pooled(&Turn::warm_us); }

  std::size_t taken() const;  // warm calls, of all turns
  // How many turns count, and how many of those there are that were enough to tell.
  int calm() const;
  bool CalmEnough() const;
  // Why its times say little, or "". `earlier_us`: its median in earlier evaluations, 0 = it had none.
  std::string Disturbance(double earlier_us = 0) const;

  struct Figure {
    int round = 0;
    double us = 0;  // the turn's median
    bool calm = true;
  };
  // Each turn in one figure. `dispatched`: with what asking for the kernels takes, where that was timed apart.
  std::vector<Figure> Figures(bool dispatched = false) const;

 private:
  struct One {
    int round = 0;
    bool quiet = true;
    Turn times;
  };
  std::vector<bool> Calm() const;
  std::vector<double> Pooled(std::vector<double> Turn::* which) const;
  Samples Summarized(std::vector<double> Turn::* which) const;
  std::vector<One> turns_;
};

// Whether what a candidate's clock sees begins before its launches are asked for.
enum class Dispatch { kHidden, kCounted };

// Of a baseline that took turns with a candidate. `dispatch` is the candidate's: the ratio is over the baseline's times
// of the same kind.
Comparison Compare(const std::string& name, const Turns& baseline, const Turns& candidate, Dispatch dispatch,
                   double earlier_us);

// Of one whose times are from earlier.
Comparison CompareKnown(const std::string& name, const KnownBaseline& known, const Turns& candidate, Dispatch dispatch);

}  // namespace hone
