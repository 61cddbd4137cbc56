#include "judge/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace hone {
namespace {

constexpr int kWideExponent = 20;  // factors from 2^-20 to 2^20: beyond the 24 bits of f32 within one sum

// 2^10: far enough to overflow what squares in f16 or relies on a range, near enough for exp to stay finite on small
// inputs.
const DrawSpec kSpecs[kDraws] = {
    {"seed 1", 1, 1},
    {"seed 2", 2, 2},
    {"seed 3", 3, 3},
    {"scale 2^-10", 4, 4, {.name = "scale 2^-10", .scale = 0x1p-10, .outliers = false}},
    {"scale 2^10", 5, 5, {.name = "scale 2^10", .scale = 0x1p10, .outliers = false}},
    {"outliers", 6, 6, {.name = "outliers", .scale = 1, .outliers = true}},
    {.name = "outliers", .seed = 12, .parameters = 12, .draw = {.name = "outliers", .outliers = true}, .share = 1},
    {.name = "outliers", .seed = 13, .parameters = 13, .draw = {.name = "outliers", .outliers = true}, .share = 2},
    {.name = "outliers", .seed = 14, .parameters = 14, .draw = {.name = "outliers", .outliers = true}, .share = 3},
    {"very wide", 7, 7, {.name = "very wide", .scale = 1, .outliers = false, .widen = kWideExponent}},
    {"seed 4, after timing", 8, DrawSpec::kTimedParameters},
    {"seed 5, timed", 9, DrawSpec::kTimedParameters},
    {"seed 5 but for a run, timed", 9, DrawSpec::kTimedParameters, {}, 10},
    {"seed 6, timed", 11, DrawSpec::kTimedParameters},
};

// The draws that decide, in the order in which they show most of what is wrong: the problem's own numbers, large ones
// beside small ones, what overflows and what vanishes.
constexpr std::size_t kTelling[] = {0, kOutlierDraw, 4, 3, kOutlierDraw + 1, 1, 2, kOutlierDraw + 2, kOutlierDraw + 3};
static_assert(std::size(kTelling) == kWideDraw);

bool IsReal(const Tensor& tensor) { return tensor.role == Role::kInput && IsFloat(tensor.dtype); }

}  // namespace

std::size_t OutlierDraws(const Problem& problem) {
  const auto inputs = problem.Inputs();
  const auto real = std::count_if(inputs.begin(), inputs.end(), [](const Tensor* tensor) { return IsReal(*tensor); });
  return std::clamp<std::size_t>(static_cast<std::size_t>(real), 1, kOutlierDraws);
}

const DrawSpec& DrawSpecOf(std::size_t which) { return kSpecs[which]; }

TrialLayout LayOut(const Problem& problem, std::int64_t cache_bytes, std::int64_t unit) {
  TrialLayout layout;
  WorkerSetup& setup = layout.setup;
  std::vector<std::int64_t> input_bytes, parameter_bytes, output_bytes;
  const auto tensors = problem.Inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool input = tensors[i]->role == Role::kInput;
    (input ? setup.inputs : setup.parameters).push_back(*tensors[i]);
    (input ? input_bytes : parameter_bytes).push_back(tensors[i]->bytes());
    (input ? layout.input_index : layout.parameter_index).push_back(i);
  }
  for (const Tensor* tensor : problem.Outputs()) {
    setup.outputs.push_back(*tensor);
    output_bytes.push_back(tensor->bytes());
  }
  for (const Tensor& tensor : problem.tensors) layout.problem_bytes += tensor.bytes();
  std::int64_t set_bytes = 0;
  for (const auto bytes : input_bytes) set_bytes += bytes;
  for (const auto bytes : output_bytes) set_bytes += bytes;
  const auto slots = std::clamp<std::int64_t>(cache_bytes / std::max<std::int64_t>(set_bytes, 1), 2, kMaxSlots);
  for (std::int64_t i = 0; i < slots; ++i) {
    setup.input_slots.push_back(PlaceTensors(input_bytes, layout.input_bytes, unit));
    setup.output_slots.push_back(PlaceTensors(output_bytes, layout.output_bytes, unit));
  }
  setup.parameter_places = PlaceTensors(parameter_bytes, layout.input_bytes, unit);
  return layout;
}

ElementRun RunToDisturb(std::uint64_t count, std::uint64_t chance) {
  if (count == 0) return {};
  const auto length = std::clamp<std::uint64_t>(count / 64, 1, 2048);
  return {.begin = chance % (count - length + 1), .length = length};
}

ElementRun RunToDisturb(const Tensor& input, std::uint64_t chance) {
  const auto count = static_cast<std::uint64_t>(ElementCount(input.shape));
  return IsFloat(input.dtype) ? RunToDisturb(count, chance) : ElementRun{.begin = 0, .length = count};
}

Trial::Trial(const Graph& graph, TrialLayout layout, std::uint64_t seed)
    : graph_(graph),
      seed_(seed),
      setup_(std::move(layout.setup)),
      problem_bytes_(layout.problem_bytes),
      input_index_(std::move(layout.input_index)),
      parameter_index_(std::move(layout.parameter_index)),
      outlier_draws_(OutlierDraws(graph.problem())) {
  for (std::size_t o = 0; o < setup_.outputs.size(); ++o) updated_.push_back(UpdatedBy(setup_, o));
}

hone::Draw Trial::VariationOf(const DrawSpec& spec, std::size_t which) const {
  hone::Draw draw = spec.draw;
  if (!draw.outliers) return draw;
  const auto tensors = graph_.problem().Inputs();
  std::size_t before = 0;
  for (std::size_t i = 0; i < which; ++i) before += IsReal(*tensors[i]) ? 1 : 0;
  draw.outliers = IsReal(*tensors[which]) && before % outlier_draws_ == spec.share;
  return draw;
}

std::string Trial::NameOf(const DrawSpec& spec) const {
  if (!spec.draw.outliers || outlier_draws_ == 1) return spec.name;
  std::vector<std::string_view> in;
  const auto tensors = graph_.problem().Inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (VariationOf(spec, i).outliers) in.push_back(tensors[i]->name);
  }
  return fmt::format("{} in {}", spec.name, fmt::join(in, ", "));
}

std::vector<std::size_t> TellingDraws(const Trial& trial, double draw_s, double within_s) {
  constexpr std::size_t kFewest = 3;
  std::vector<std::size_t> draws;
  std::copy_if(std::begin(kTelling), std::end(kTelling), std::back_inserter(draws),
               [&](std::size_t which) { return trial.Has(which); });
  const double fit = draw_s > 0 ? within_s / draw_s : static_cast<double>(kDraws);
  const auto most = static_cast<std::size_t>(std::clamp(fit, double{kFewest}, static_cast<double>(kDraws)));
  if (draws.size() > most) draws.resize(most);
  std::sort(draws.begin(), draws.end());
  return draws;
}

Result<std::shared_ptr<const DrawnInputs>> Trial::Draw(std::size_t which) {
  if (!drawn_[which]) drawn_[which] = HONE_TRY(MakeDraw(DrawSpecOf(which)));
  return drawn_[which];
}

void Trial::Say(std::string_view what) const {
  const auto made = kDraws - static_cast<std::size_t>(std::count(std::begin(drawn_), std::end(drawn_), nullptr));
  if (stage_) stage_(fmt::format("{} {} %", what, 100 * made / draws()));
}

void Trial::Renew(std::uint64_t seed) {
  seed_ = seed;
  ForgetDraws();
}

void Trial::ForgetDraws() {
  for (auto& drawn : drawn_) drawn.reset();
}

}  // namespace hone
