#include "propose/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "propose/prompt.h"

namespace hone {
namespace {

// What fits into some hundred tokens; who wants more has `hone memory`.
constexpr std::size_t kTold = 12, kPieces = 4;
// What is told is known by its own lessons at least as much as by what was granted, and more than times scatter.
constexpr double kTellSure = 0.5, kTellGain = 0.03;

// What such a change saves at a kernel that takes all of the time, as a logarithm.
double Brings(const Tally& tally) { return tally.brought / (tally.shares_squared + kGrantedLessons); }

std::string Lessons(const Experience& experience) {
  struct Told {
    std::string_view kind;
    Tally tally;
  };
  std::vector<Told> told;
  for (const auto& [kind, tally] : experience.kinds()) {
    const bool general = kind.find('>') == kind.npos && !kind.starts_with(kStart);
    const double sure = tally.shares_squared / (tally.shares_squared + kGrantedLessons);
    if (general && sure >= kTellSure && std::abs(Brings(tally)) >= kTellGain) told.push_back({kind, tally});
  }
  std::ranges::stable_sort(told, std::greater<>(), [](const Told& one) { return std::abs(Brings(one.tally)); });
  if (told.size() > kTold) told.resize(kTold);
  std::string lines;
  for (const auto& [kind, tally] : told) {
    const double after = std::exp(-Brings(tally));
    lines += fmt::format("{}: {:.0f} % of the kernel's time {}, by {:.0f} tries{}\n", kind, 100 * std::abs(1 - after),
                         after < 1 ? "saved" : "lost", tally.lessons,
                         tally.refused > 0 ? fmt::format(", {:.0f} of them refused", tally.refused) : "");
  }
  return lines;
}

std::string Pieces(const std::map<std::string, ProvenPiece>& proven) {
  std::vector<const ProvenPiece*> largest;
  for (const auto& [key, piece] : proven) largest.push_back(&piece);
  std::ranges::stable_sort(largest, std::greater<>(), &ProvenPiece::share);
  if (largest.size() > kPieces) largest.resize(kPieces);
  std::string lines;
  for (const ProvenPiece* piece : largest) {
    lines += piece->text + "  won in run " + piece->run + " with";
    for (const auto& [knob, value] : piece->settings) lines += fmt::format(" {}: {}", knob, value);
    lines += '\n';
  }
  return lines;
}

}  // namespace

std::string DigestOf(const Recalled& recalled) {
  const std::string lessons = Lessons(recalled.experience), pieces = Pieces(recalled.proven);
  if (lessons.empty() && pieces.empty()) return "";
  std::string text = "## What earlier runs on this device found out\n";
  if (!lessons.empty())
    text += "\nWhat changing a setting of a kind of kernel brought:\n\n" + FencedText("lessons", lessons);
  if (!pieces.empty()) text += "\nPieces of this problem that won elsewhere:\n\n" + FencedText("pieces", pieces);
  return text;
}

}  // namespace hone
