// What was tried in earlier runs and what came of it, as far as it may hold elsewhere: what changing a setting of a
// kind of kernel brought, and what became of predictions of programs to begin with.
//
//   matmul.tile:less                                      the general
//     '- matmul.tile=64x128x256                             |
//          '- matmul.tile=128x128x256>64x128x256 f32 2^20   v
//               '- ... limited by memory                  the particular
//
// A move at a kernel that takes the share s of a program's time is taken to bring g = b s, g being the logarithm of the
// time before over that after. Of n lessons of a kind, the i-th weighing w, we hold b to be
//
//   b = (sum w s g + k0 b') / (sum w s^2 + k0)
//
// which is least squares through the origin, with k0 (2) lessons of whole programs granted to b', what is held of the
// next more general kind; of the most general one b' is what the proposer itself claims. So few lessons change little,
// many decide, and lessons at kernels that hardly matter say hardly anything.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "target/device_model.h"

namespace hone {

// One thing that was tried. Plain values, as they are stored.
struct Lesson {
  std::string family;         // of the kernel whose setting was changed; kStart: a program to begin with
  std::string knob;           // of a start: "cut"
  std::string before, after;  // settings as the language writes them; of a start: its families, and how it was cut
  std::string dtype;          // that the kernel makes
  int size = 0;               // log2 of the elements that it goes over, in steps of four
  std::string limit;          // what limited the program before: "memory"; empty: not known
  double share = 1;           // of the program's time, as predicted, that the kernel takes
  double gain = 0;            // ln(time before / time after); of a start: ln(predicted / measured)
  bool refused = false;       // it was not accepted; its gain is then kRefusedGain
  // Says what came of it; 0: it was not accepted or not timed.
  void End(double before_us, double after_us);
};
inline constexpr std::string_view kStart = "start";
// What is refused is as bad as what takes four times as long; what changes more than that changes so much at most.
inline constexpr double kRefusedGain = -1.4;

// What the lesson is, from the general to the particular.
std::vector<std::string> KindsOf(const Lesson& lesson);

// What is known of one kind: sums over its lessons.
struct Tally {
  double lessons = 0, refused = 0;         // weights
  double shares_squared = 0, brought = 0;  // sum w s^2, sum w s g
  double helped = 0;                       // weight of those that made it faster, by more than measuring again may
};

// So many lessons of whole programs are granted to what is held already. A choice, as of Kept (learned.cc).
inline constexpr double kGrantedLessons = 2;

// A choice: by chance alone, what is refused every other time is so three times in a row in one case of eight.
inline constexpr double kDoomed = 3;

class Experience {
 public:
  Experience() = default;
  explicit Experience(std::map<std::string, Tally> kinds) : kinds_(std::move(kinds)) {}

  void Add(const Lesson& lesson, double weight = 1);
  // The gain to expect of a lesson whose own is not known yet, where the proposer claims `own` of it.
  double Expect(const Lesson& lesson, double own) const;

  // The same of a start, whose prediction stands by itself: 0 at the least. Other problems' starts of the same families
  // may have been worse than predicted for reasons of their own (an attention in tiles of 128 is fast or slow by its
  // rows), and a start that is not tried is lost with all that follows from it; trying it costs one attempt.
  double HopeOfStart(const Lesson& start) const { return std::max(0.0, Expect(start, 0)); }

  // Why it need not be tried: all of its particular kind were refused, kDoomed of them at least by weight. Nothing: it
  // may do.
  std::optional<std::string> WhyDoomed(const Lesson& lesson) const;

  const std::map<std::string, Tally>& kinds() const { return kinds_; }
  bool empty() const { return kinds_.empty(); }

 private:
  std::map<std::string, Tally> kinds_;
};

// What changed from one program to another of one problem: a single setting of one kernel; nothing where more or none
// did. Gain and limit are left to the caller.
std::optional<Lesson> ChangeBetween(const std::string& before, const std::string& after, const Problem& problem,
                                    const DeviceModel& machine);
// A program to begin with, by how it was cut; nothing of a text that is no program.
std::optional<Lesson> StartOf(const std::string& program, const std::string& cut);
// What the expert predicts of a program as such, without experience, in microseconds; 0: it is no program of this
// problem's.
double PredictedUs(const std::string& program, const Problem& problem, const DeviceModel& machine);

}  // namespace hone
