#include "propose/shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsl/program.h"
#include "propose/expert/expert.h"
#include "propose/prompt.h"
#include "propose/sections.h"

namespace hone {

extern const std::string_view kModuleHeader;  // include/hone/module.h, inside of hone_target

namespace {

constexpr std::size_t kMostWords = 200;  // of evidence that sections are looked for by

void AddWord(std::vector<std::string>& words, const std::string& word) {
  if (!word.empty() && std::ranges::find(words, word) == words.end()) words.push_back(word);
}

// Names and numbers in it, such as a page may have.
void AddWordsOf(std::vector<std::string>& words, std::string_view text) {
  std::string word;
  const auto end = [&] {
    if (word.size() > 2 && words.size() < kMostWords) AddWord(words, word);
    word.clear();
  };
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += c;
    } else {
      end();
    }
  }
  end();
}

std::string Excerpt(std::string_view of, const PageSection& section) {
  return fmt::format("## Of {}: {}\n\n{}", of, section.title, FencedText("markdown", section.text));
}

// Of the families that are meant, then what a program is and how all is written, then what else has the words.
std::vector<std::string> LanguageSections(const std::vector<std::string>& words) {
  const std::vector<PageSection> all = SectionsOf(kLanguagePage);
  std::vector<std::string> texts;
  std::set<std::string_view> taken;
  const auto take = [&](const PageSection& section) {
    if (taken.insert(section.title).second) texts.push_back(Excerpt("the kernel language", section));
  };
  for (const std::string& word : words) {
    for (const PageSection& section : all) {
      if (section.title == word) take(section);
    }
  }
  if (!all.empty()) take(all.front());  // what a program is, with one
  for (const PageSection& section : all) {
    if (section.title == "Grammar") take(section);
  }
  for (const PageSection& section : Relevant(all, words)) take(section);
  return texts;
}

// How a plan is written: as kernels with launch lines, or all of it.
std::string PlanSection(std::string_view title) {
  for (const PageSection& section : SectionsOf(kPlanPage)) {
    if (section.title == title) return Excerpt("plans", section);
  }
  return "";
}

// What makes kernels fast on such a device: what there is to know, and the three kinds of work that are most like it.
void AddHopperSections(const std::vector<std::string>& words, std::vector<std::string>& to) {
  const std::vector<PageSection> all = SectionsOf(kHopperPage);
  if (all.size() < 2) return;
  to.push_back(Excerpt("Hopper", all[1]));
  std::vector<PageSection> kinds = Relevant({all.begin() + 2, all.end()}, words);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, kinds.size()); ++i) to.push_back(Excerpt("Hopper", kinds[i]));
}

std::string ModuleSection() {
  return fmt::format("## Of modules: hone/module.h, which a module includes\n\n{}", FencedText("c", kModuleHeader));
}

std::string Winner(const PastWinner& winner) {
  return fmt::format("## What won an earlier run of a like problem: {}\n\n{}", Describe(winner),
                     FencedText(Name(winner.candidate.kind), winner.candidate.text));
}

bool IsOf(const Question& question, CandidateKind kind) {
  return question.from() && question.from()->proposal.candidate.kind == kind;
}

// Whether the question is one that a program can answer as well as anything.
bool OfPrograms(const Question& question) { return !question.from() || IsOf(question, CandidateKind::kProgram); }

}  // namespace

Shelf ShelfOf(const ProposerSetting& setting) {
  Shelf shelf{.words = {}, .winners = setting.winners};
  const auto begun = MakeExpert(setting.graph, setting.machine)->Propose({});
  if (begun && !begun->proposals.empty()) {
    const auto parsed = dsl::Parse(begun->proposals.front().candidate.text);
    if (const auto* program = std::get_if<dsl::Program>(&parsed)) {
      for (const dsl::Statement& statement : program->statements) AddWord(shelf.words, statement.family);
    }
  }
  for (const Node& node : setting.graph.problem().nodes) AddWordsOf(shelf.words, node.op);
  return shelf;
}

std::vector<std::string> FromShelf(const Shelf& shelf, const Question& question, const DeviceModel& machine) {
  const bool cuda = machine.kind == DeviceKind::kCuda;
  std::vector<std::string> sections = {DeviceNotes(machine)};
  if (machine.arch.starts_with("sm_90")) AddHopperSections(shelf.words, sections);
  if (!shelf.winners.empty()) sections.push_back(Winner(shelf.winners.front()));
  if (IsOf(question, CandidateKind::kModule) || IsOf(question, CandidateKind::kCudaModule))
    sections.push_back(ModuleSection());
  if (cuda) sections.push_back(PlanSection("Kernels with launch lines"));
  if (IsOf(question, CandidateKind::kPlan)) sections.push_back(PlanSection("Plans"));
  if (OfPrograms(question)) std::ranges::move(LanguageSections(shelf.words), std::back_inserter(sections));
  for (std::size_t i = 1; i < shelf.winners.size(); ++i) sections.push_back(Winner(shelf.winners[i]));
  if (OfPrograms(question)) sections.push_back(ModuleSection());
  return sections;
}

std::vector<std::string> ForRepair(const Shelf& shelf, const Question& question) {
  if (IsOf(question, CandidateKind::kModule) || IsOf(question, CandidateKind::kCudaModule)) return {ModuleSection()};
  if (IsOf(question, CandidateKind::kPlan)) return {PlanSection("Kernels with launch lines"), PlanSection("Plans")};
  if (!question.from()) return {};
  const Verdict& verdict = question.from()->evaluation.verdict;
  std::vector<std::string> words;
  AddWordsOf(words, verdict.reason);
  AddWordsOf(words, verdict.evidence->detail);
  AddWordsOf(words, std::string_view(verdict.evidence->log).substr(0, 2000));
  for (const std::string& word : shelf.words) AddWord(words, word);
  return LanguageSections(words);
}

std::string DeviceNotes(const DeviceModel& machine) {
  std::string text = fmt::format("## The device: {}\n\n", machine.processor);
  const auto kib = [](std::int64_t bytes) { return bytes >> 10; };
  const double copy = machine.ceilings.CopyBandwidth(std::int64_t{1} << 30);
  if (machine.kind == DeviceKind::kCpu) {
    text += fmt::format("- {} threads, vectors of {} bytes{}\n- caches of a core: {} KiB and {} KiB; of all: {} KiB\n",
                        machine.threads, machine.vector_bytes, machine.bf16_pairs ? ", products of bf16 pairs" : "",
                        kib(machine.l1_bytes), kib(machine.l2_bytes), kib(machine.l3_bytes));
    if (machine.ceilings.fma_flops_f32 > 0)
      text += fmt::format("- at best {:.0f} GFLOP/s in f32\n", machine.ceilings.fma_flops_f32 / 1e9);
  } else {
    const MultiprocessorLimits& limits = machine.limits;
    text += fmt::format(
        "- {}, {} multiprocessors; of each at most {} warps, {} blocks, {} registers, {} KiB of shared memory\n"
        "- of a block at most {} threads and {} KiB of shared memory; clusters of up to {} blocks\n"
        "- {} KiB of second-level cache; {}; {}\n",
        machine.arch, machine.multiprocessors, limits.warps, limits.blocks, limits.registers, kib(limits.shared_bytes),
        limits.block_threads, kib(limits.block_shared_bytes), limits.cluster_blocks, kib(machine.l2_bytes),
        machine.has.tensor_maps ? "a bulk copy engine with tensor maps (TMA)" : "no bulk copy engine (TMA)",
        machine.has.wgmma ? "products of warpgroups (wgmma)" : "no products of warpgroups (wgmma)");
    for (const auto& [type, flops] : machine.ceilings.matmul_flops)
      text += fmt::format("- products in {}: at best {:.0f} TFLOP/s\n", type, flops / 1e12);
  }
  if (copy > 0)
    text += fmt::format("- copies of large tensors: at best {:.0f} GB/s, read and written together\n", copy / 1e9);
  return text;
}

}  // namespace hone
