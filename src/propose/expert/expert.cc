#include "propose/expert/expert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "dsl/family.h"
#include "dsl/program.h"
#include "dsl/way.h"
#include "oracle/loop_nest.h"
#include "propose/expert/advice.h"
#include "propose/expert/beginnings.h"
#include "propose/expert/cost.h"
#include "propose/expert/cross.h"
#include "propose/expert/lesson.h"
#include "propose/expert/piece_text.h"

namespace hone {
namespace {

using expert::Beginning;

// A change that makes the time no longer than by this factor did no harm: attempts are timed to about 2 %.
constexpr double kNeutral = 1.03;
// So many of the best neutral changes are paired: at most 28 pairs, small beside a budget of 100.
constexpr std::size_t kPaired = 8;

// Plain loops on one thread take this many times as long as a program, roughly: they come last.
constexpr double kNaive = 20;
// Moves are made for so many kernels: each costs a check, and the whole text.
constexpr std::size_t kMoved = 16;
// What a change predicts of itself counts this much beside what a finding promises: it rests on the order of settings
// and values alone. A choice, not a measurement.
constexpr double kUnasked = 0.5;
// What made another attempt of the run slower by more than this share is asked for again only after all else.
constexpr double kHarm = 0.1, kAfterHarm = 0.01;
// No move is predicted to save more of the time than this.
constexpr double kMostSaved = 0.9;
// So many of the cuts whose pieces won elsewhere are offered as they won: a run tries four starts before it goes on.
constexpr std::size_t kProven = 2;
// So many crossings of a pair at most: a search has other things to try.
constexpr std::size_t kCrossings = 4;
// What was measured goes before all that is only predicted.
constexpr double kBeforeAll = 0.99;

class Expert : public Proposer {
 public:
  Expert(Graph graph, DeviceModel machine, const Learned* learned, Saving saving, const Recalled* recalled)
      : graph_(std::move(graph)), machine_(std::move(machine)), saving_(saving) {
    if (learned != nullptr) learned_ = *learned;
    if (recalled != nullptr) recalled_ = *recalled;
  }

  Beginnings Known() const {
    std::set<std::string> keys;
    std::set<std::string_view> families;
    for (const Beginning& one : expert::BeginningsIn(graph_, machine_)) {
      for (const std::string& text : expert::PieceTexts(one.program, one.kernels))
        keys.insert(PieceKey(text, graph_.problem().contract));
      for (const dsl::Kernel& kernel : one.kernels.kernels) families.insert(kernel.family->name);
    }
    return {{keys.begin(), keys.end()}, {families.begin(), families.end()}};
  }

  Result<Round> Propose(const Question& question) override {
    Round round;
    if (question.mate != 0) {
      round.proposals = Crossed(question);
    } else if (const Attempt* from = question.from()) {
      round.proposals = Next(*from, question.turn, question.history);
      Random random = question.random;
      for (Proposal& one : round.proposals) one.dropped = !one.doubt.empty() && random.Uniform() >= kDoubtedAndTried;
    } else if (question.turn == 0) {
      round.proposals = Start(round.notes);
    }
    return round;
  }

 private:
  struct Change : expert::Alternative {
    std::string words;
    double gain = 0;  // the share of the time that it predicts of itself
    Lesson lesson;
    Proposal proposal;
  };

  // `notes`: why there are no programs, where there are none.
  std::vector<Proposal> Start(std::vector<std::string>& notes) const {
    std::vector<Proposal> proposals, proven;
    std::set<std::string> seen;
    const auto add = [&seen](std::vector<Proposal>& to, std::optional<Proposal> proposal, std::string_view key,
                             const std::string& words) {
      if (!proposal || !seen.insert(proposal->candidate.text).second) return;
      proposal->origin = "expert: " + words;
      proposal->key = fmt::format("{} {}", key, to.size());
      to.push_back(std::move(*proposal));
    };
    const auto earlier = [](const Proposal& a, const Proposal& b) { return a.predicted_us < b.predicted_us; };
    std::vector<std::string> missing;
    const std::vector<Beginning> beginnings = expert::BeginningsIn(graph_, machine_, &missing);
    if (beginnings.empty()) notes = std::move(missing);
    for (const Beginning& one : beginnings) {
      Proposal proposal = AsProposal(one.program, one.kernels);
      if (!recalled_.experience.empty()) {
        if (const auto lesson = StartOf(proposal.candidate.text, one.words))
          proposal.predicted_us *= std::exp(-recalled_.experience.HopeOfStart(*lesson));
      }
      add(proposals, std::move(proposal), "cut", one.words);
    }
    for (const Beginning& one : beginnings) {
      std::string words = one.words;
      auto as_it_won = AsItWon(one, words);
      add(proven, std::move(as_it_won), "proven", words);
    }
    std::stable_sort(proposals.begin(), proposals.end(), earlier);
    std::stable_sort(proven.begin(), proven.end(), earlier);
    if (proven.size() > kProven) proven.resize(kProven);
    for (Proposal& one : proven) one.predicted_us = std::min(one.predicted_us, kBeforeAll * LeastUs(proposals));
    proposals.insert(proposals.begin(), proven.begin(), proven.end());
    if (machine_.kind == DeviceKind::kCuda) return proposals;
    // What works for every graph that hone can define, should no program do.
    Proposal nest;
    nest.candidate = {CandidateKind::kModule, NaiveModule(graph_)};
    nest.origin = "expert: the definitions' loop nests";
    nest.key = kLoopNestKey;
    if (!proposals.empty()) nest.predicted_us = kNaive * proposals.back().predicted_us;
    proposals.push_back(std::move(nest));
    return proposals;
  }

  // Of sorted ones.
  static double LeastUs(const std::vector<Proposal>& proposals) {
    return proposals.empty() ? 0 : proposals.front().predicted_us;
  }

  // The program with the settings with which its pieces won in earlier runs, and in `words` whose those were. Predicted
  // to be as much faster as they were. Nothing where none of its pieces is known.
  std::optional<Proposal> AsItWon(const Beginning& one, std::string& words) const {
    if (recalled_.proven.empty()) return std::nullopt;
    dsl::Program program = one.program;
    const auto texts = expert::PieceTexts(program, one.kernels);
    const auto times = expert::PredictKernels(one.kernels, machine_);
    std::set<std::string> whose;
    std::size_t known = 0;
    double predicted_us = 0;
    for (std::size_t k = 0; k < texts.size(); ++k) {
      const auto found = recalled_.proven.find(PieceKey(texts[k], graph_.problem().contract));
      const bool won = found != recalled_.proven.end();
      predicted_us += won ? times[k] / std::max(1.0, found->second.gain) : times[k];
      if (!won) continue;
      ++known;
      whose.insert(fmt::format("{} ({})", found->second.run, found->second.problem));
      program.statements[k].settings.clear();
      for (const auto& [knob, value] : found->second.settings)
        program.statements[k].settings[knob] = expert::ReadSetting(value);
    }
    if (known == 0) return std::nullopt;
    words += fmt::format(", {} of {} kernels as in run {}", known, texts.size(), fmt::join(whose, ", "));
    auto proposal = AsProposal(std::move(program));
    if (proposal) proposal->predicted_us = predicted_us;
    return proposal;
  }

  // Turn 0: every single change of a setting. Turn 1: pairs of those changes that cost nothing on their own; two
  // settings that only pay together are found so, which no single change shows.
  std::vector<Proposal> Next(const Attempt& from, int turn, const std::vector<const Attempt*>& history) const {
    std::vector<Proposal> proposals;
    if (turn > 1 || !from.accepted() || from.proposal.candidate.kind != CandidateKind::kProgram) return proposals;
    const auto parsed = dsl::Parse(from.proposal.candidate.text);
    const auto* program = std::get_if<dsl::Program>(&parsed);
    if (!program) return proposals;
    auto changes = Changes(*program, from, history);
    if (turn == 1) {
      proposals = Pairs(*program, changes, from.time_us(), history);
    } else {
      for (Change& change : changes) proposals.push_back(std::move(change.proposal));
    }
    std::stable_sort(proposals.begin(), proposals.end(),
                     [](const Proposal& a, const Proposal& b) { return a.predicted_us < b.predicted_us; });
    return proposals;
  }

  // What has of both; as much faster than the parent as the model of costs says.
  std::vector<Proposal> Crossed(const Question& question) const {
    const auto program_of = [](const Attempt& attempt) {
      auto parsed = dsl::Parse(attempt.proposal.candidate.text);
      auto* program = std::get_if<dsl::Program>(&parsed);
      return program && attempt.accepted() ? std::optional(std::move(*program)) : std::nullopt;
    };
    const Attempt& from = *question.from();
    const auto parent = program_of(from), mate = program_of(*question.with());
    const auto as_it_is = parent && mate ? AsProposal(*parent) : std::nullopt;
    std::vector<Proposal> proposals;
    if (!as_it_is) return proposals;
    std::set<std::string> seen = {as_it_is->candidate.text, question.with()->proposal.candidate.text};
    for (expert::Crossing& crossing : expert::Cross(*parent, *mate, question.random)) {
      if (proposals.size() == kCrossings) break;
      auto proposal = AsProposal(std::move(crossing.program));
      if (!proposal || !seen.insert(proposal->candidate.text).second) continue;
      proposal->origin = fmt::format("expert: {} as in attempt {}", crossing.words, question.mate);
      proposal->key = fmt::format("cross {} {}", question.mate, crossing.words);
      if (as_it_is->predicted_us > 0) proposal->predicted_us *= from.time_us() / as_it_is->predicted_us;
      proposals.push_back(std::move(*proposal));
    }
    std::ranges::stable_sort(proposals, {}, &Proposal::predicted_us);
    return proposals;
  }

  // All changes of one setting. The kernel that takes longest is predicted to gain most, by its first alternatives more
  // than by its last.
  std::vector<Change> Changes(const dsl::Program& program, const Attempt& from,
                              const std::vector<const Attempt*>& history) const {
    std::vector<Change> changes;
    const auto checked = dsl::Check(program, &graph_.problem(), machine_);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (!kernels) return changes;
    const auto times = expert::PredictKernels(*kernels, machine_);
    double total = 0;
    for (const double time : times) total += time;
    // Of a large program the kernels that take longest: the others cannot gain more than a move is worth.
    std::vector<std::size_t> slowest(times.size());
    for (std::size_t k = 0; k < slowest.size(); ++k) slowest[k] = k;
    std::stable_sort(slowest.begin(), slowest.end(), [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
    if (slowest.size() > kMoved) slowest.resize(kMoved);
    std::sort(slowest.begin(), slowest.end());
    expert::Parts parts;
    for (std::size_t k = 0; k < times.size(); ++k) {
      parts.targets.push_back(program.statements[k].target);
      parts.shares.push_back(total > 0 ? times[k] / total : 1);
    }
    for (const std::size_t k : slowest) {
      const dsl::Kernel& kernel = kernels->kernels[k];
      const std::string& target = program.statements[k].target;
      const auto knobs = dsl::KnobsOf(kernel);
      const auto choice = dsl::ChoiceOf(*kernel.family, machine_.kind);
      for (std::size_t n = 0; n < knobs.size(); ++n) {
        const dsl::Knob& knob = knobs[n];
        if (knob.saves_energy && saving_ == Saving::kTime) continue;
        const std::string knob_name(knob.name);
        const auto values = knob.values(kernel);
        for (std::size_t v = 0; v < values.size(); ++v) {
          const auto current = kernel.settings.find(knob_name);
          if (current != kernel.settings.end() && current->second == values[v]) continue;
          if (knob.check && knob.check(kernel, values[v])) continue;
          dsl::Program changed = program;
          changed.statements[k].settings[knob_name] = values[v];
          auto proposal = AsProposal(changed, {&k, 1}, *kernels);
          if (!proposal) {
            // What was chosen for the old value may not go with the new one.
            for (std::size_t later = n + 1; later < knobs.size(); ++later)
              changed.statements[k].settings.erase(std::string(knobs[later].name));
            proposal = AsProposal(changed, {&k, 1}, *kernels);
          }
          if (!proposal) continue;
          const std::string before = current == kernel.settings.end() ? "unset" : dsl::ToString(current->second);
          const std::string after = dsl::ToString(values[v]);
          std::string words = fmt::format("{}: {} {} -> {}", target, knob.name, before, after);
          proposal->origin = "expert: " + words;
          proposal->key = fmt::format("{}.{}={}", target, knob.name, after);
          // A setting is worth at most a fraction of its kernel's share; earlier knobs and values matter more. Fewer
          // threads help only kernels that are shorter than their start, so they come last.
          const bool fewer = knob.name == "threads" && times[k] > 20 * machine_.ceilings.fork_join_us;
          const std::size_t place = knob.saves_energy ? 0 : n;  // who asks for less energy wants to know these first
          const double order = (fewer ? 0.01 : 1.0) / static_cast<double>(1 + place) / static_cast<double>(1 + v);
          Change change;
          change.statement = k;
          change.knob = knob_name;
          change.chooses = knob.name == choice;
          if (current != kernel.settings.end()) change.before = current->second;
          change.after = values[v];
          change.words = std::move(words);
          if (change.chooses) change.slower = dsl::SlowerBy(values[v], kernel);
          change.gain = expert::AsLikely(0.3 * parts.shares[k] * order, change);
          change.lesson = expert::LessonAt(kernel, knob_name);
          change.lesson.before = current == kernel.settings.end() ? "" : before;
          change.lesson.after = after;
          change.lesson.share = parts.shares[k];
          change.proposal = std::move(*proposal);
          changes.push_back(std::move(change));
        }
      }
    }
    Predict(changes, parts, from, history);
    return changes;
  }

  // Says of each change what it promises, by whose word, and how long the candidate will take.
  void Predict(std::vector<Change>& changes, const expert::Parts& parts, const Attempt& from,
               const std::vector<const Attempt*>& history) const {
    std::vector<expert::Promise> promises(changes.size());
    Learned learned;
    std::set<std::string_view> harmful;  // keys
    if (learned_) {
      learned = *learned_;
      for (const Attempt* one : history) {
        if (one->parent == 0 || one->proposal.rule.empty()) continue;
        const double brought = Brought(*one, *history[static_cast<std::size_t>(one->parent) - 1]);
        learned[one->proposal.rule].Add(one->proposal.promised, brought);
        if (brought < -kHarm || !one->accepted()) harmful.insert(one->proposal.key);
      }
      promises = expert::PromisesOf(from.insight->findings, {changes.begin(), changes.end()}, parts, learned);
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Proposal& proposal = changes[i].proposal;
      double gain = changes[i].gain;
      proposal.rule = kOwnRule;
      proposal.promised = gain;
      if (learned_) gain *= kUnasked * FactorOf(learned, kOwnRule);
      if (!promises[i].rule.empty()) {
        proposal.rule = promises[i].rule;
        proposal.promised = promises[i].share;
        proposal.origin += fmt::format(" ({})", proposal.rule);
        gain = std::min(kMostSaved, promises[i].share * FactorOf(learned, proposal.rule));
      }
      if (harmful.contains(proposal.key)) gain *= kAfterHarm;
      proposal.predicted_us = from.time_us() * (1 - gain);
      if (recalled_.experience.empty()) continue;
      if (const Class* limit = from.insight->limits.decided()) changes[i].lesson.limit = Name(limit->bottleneck);
      if (auto why = recalled_.experience.WhyDoomed(changes[i].lesson)) proposal.doubt = std::move(*why);
      const double expected = recalled_.experience.Expect(changes[i].lesson, -std::log(1 - gain));
      proposal.predicted_us = from.time_us() * std::exp(-expected);
    }
  }

  // Two changes at once, of those that were tried and did not make it slower. Predicted as if one did not matter to the
  // other.
  std::vector<Proposal> Pairs(const dsl::Program& program, const std::vector<Change>& changes, double time_us,
                              const std::vector<const Attempt*>& history) const {
    std::map<std::string_view, double> times_us;  // of accepted candidates, by text
    for (const Attempt* one : history) {
      if (one->time_us() > 0) times_us[one->proposal.candidate.text] = one->time_us();
    }
    struct Neutral {
      const Change* change;
      double ratio;  // of the times, after / before
    };
    std::vector<Neutral> neutral;
    for (const Change& change : changes) {
      const auto tried = times_us.find(change.proposal.candidate.text);
      if (tried != times_us.end() && tried->second <= kNeutral * time_us)
        neutral.push_back({&change, tried->second / time_us});
    }
    std::stable_sort(neutral.begin(), neutral.end(),
                     [](const Neutral& a, const Neutral& b) { return a.ratio < b.ratio; });
    if (neutral.size() > kPaired) neutral.resize(kPaired);
    std::vector<Proposal> proposals;
    for (std::size_t i = 0; i < neutral.size(); ++i) {
      for (std::size_t j = i + 1; j < neutral.size(); ++j) {
        const Change &one = *neutral[i].change, &other = *neutral[j].change;
        if (one.statement == other.statement && one.knob == other.knob) continue;
        dsl::Program changed = program;
        changed.statements[one.statement].settings[one.knob] = one.after;
        changed.statements[other.statement].settings[other.knob] = other.after;
        auto proposal = AsProposal(changed);
        if (!proposal) continue;
        proposal->origin = fmt::format("expert: {}; {}", one.words, other.words);
        proposal->key = fmt::format("{} {}", one.proposal.key, other.proposal.key);
        proposal->predicted_us = time_us * neutral[i].ratio * neutral[j].ratio;
        proposals.push_back(std::move(*proposal));
      }
    }
    return proposals;
  }

  // The program with every setting written out, so that the text says all; nothing if the checker refuses it.
  std::optional<Proposal> AsProposal(dsl::Program program) const {
    const auto checked = dsl::Check(program, &graph_.problem(), machine_);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (!kernels) return std::nullopt;
    return AsProposal(std::move(program), *kernels);
  }
  // Likewise, of one that differs from what was checked in the settings of these statements.
  std::optional<Proposal> AsProposal(dsl::Program program, std::span<const std::size_t> changed,
                                     const dsl::KernelProgram& before) const {
    const auto checked = dsl::CheckSettings(program, changed, before);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (!kernels) return std::nullopt;
    return AsProposal(std::move(program), *kernels);
  }
  // Of what the checker made of it.
  Proposal AsProposal(dsl::Program program, const dsl::KernelProgram& kernels) const {
    for (std::size_t k = 0; k < kernels.kernels.size(); ++k)
      program.statements[k].settings = kernels.kernels[k].settings;
    Proposal proposal;
    proposal.candidate = {CandidateKind::kProgram, dsl::Print(program)};
    proposal.predicted_us = expert::Predict(kernels, machine_);
    return proposal;
  }

  Graph graph_;
  DeviceModel machine_;
  Saving saving_;
  std::optional<Learned> learned_;  // nothing: it does not act on findings
  Recalled recalled_;
};

}  // namespace

std::unique_ptr<Proposer> MakeExpert(Graph graph, DeviceModel machine, const Learned* learned, Saving saving,
                                     const Recalled* recalled) {
  return std::make_unique<Expert>(std::move(graph), std::move(machine), learned, saving, recalled);
}

Beginnings BeginningsOf(const Graph& graph, const DeviceModel& machine) {
  return Expert(graph, machine, nullptr, Saving::kTime, nullptr).Known();
}

}  // namespace hone
