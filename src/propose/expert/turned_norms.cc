#include "propose/expert/turned_norms.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cuda/channels_last.h"
#include "dsl/kernel.h"

namespace hone::expert {
namespace {

// Where a name's elements lie: in a tensor, or in what a statement has made.
struct Place {
  std::string base;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

void VisitNames(const dsl::TermPtr& term, const std::function<void(const std::string&)>& visit) {
  if (term->kind == dsl::Term::Kind::kName || term->kind == dsl::Term::Kind::kElement) visit(term->name);
  for (const auto& argument : term->arguments) VisitNames(argument, visit);
}
dsl::TermPtr Renamed(const dsl::TermPtr& term, const std::function<std::string(const std::string&)>& name) {
  dsl::Term changed = *term;
  if (term->kind == dsl::Term::Kind::kName) changed.name = name(term->name);
  for (auto& argument : changed.arguments) argument = Renamed(argument, name);
  return std::make_shared<const dsl::Term>(std::move(changed));
}
std::vector<dsl::TermPtr*> TermsOf(dsl::Statement& statement) {
  std::vector<dsl::TermPtr*> terms;
  for (auto& operand : statement.operands) terms.push_back(&operand);
  for (auto& let : statement.lets) terms.push_back(&let.value);
  for (auto& link : statement.epilogue) terms.push_back(&link);
  for (auto& one : statement.also) terms.push_back(&one.value);
  return terms;
}

class NormTurner {
 public:
  NormTurner(dsl::Program program, const DeviceModel& device) : program_(std::move(program)), device_(device) {}

  std::optional<dsl::Program> Turn(const dsl::KernelProgram& checked) {
    if (checked.kernels.size() != program_.statements.size()) return std::nullopt;
    for (const auto& buffer : checked.buffers)
      places_[buffer.name] = {buffer.name, buffer.shape, DenseStrides(buffer.shape), 0};
    for (const auto& view : program_.views) places_[view.name] = {view.base, view.shape, view.strides, view.offset};
    bool any = false;
    for (std::size_t s = 0; s < program_.statements.size(); ++s) any |= TurnOne(s, checked.kernels[s].result);
    if (!any || !EndInLibrary()) return std::nullopt;
    return std::move(program_);
  }

 private:
  static bool LiesLast(const dsl::Statement& statement) {
    const auto layout = statement.settings.find(std::string(dsl::kLayoutKnob));
    return statement.family == "conv" && layout != statement.settings.end() &&
           dsl::ToString(layout->second) == dsl::kChannelsLast;
  }

  // The [N, C, spatial..] as which such convolutions, and nobody else, read what a norm makes; nothing if others do.
  std::optional<Shape> ReadBy(const std::string& target) {
    std::optional<Shape> shape;
    for (dsl::Statement& reader : program_.statements) {
      bool only_image = true, reads = false;
      const std::vector<dsl::TermPtr*> terms = TermsOf(reader);
      for (const dsl::TermPtr* term : terms) {
        VisitNames(*term, [&](const std::string& name) {
          const auto place = places_.find(name);
          if (place == places_.end() || place->second.base != target) return;
          reads = true;
          only_image &= name != target && term == &reader.operands[0] && (*term)->kind == dsl::Term::Kind::kName &&
                        place->second.offset == 0 && place->second.strides == DenseStrides(place->second.shape) &&
                        (!shape || *shape == place->second.shape);
          shape = place->second.shape;
        });
      }
      if (reads && (!only_image || !LiesLast(reader))) return std::nullopt;
    }
    return shape;
  }

  // What such convolutions have made that the statement reads.
  std::set<std::string> ImagesOf(const dsl::Statement& statement) const {
    std::set<std::string> images;
    for (const auto& operand : statement.operands) {
      VisitNames(operand, [&](const std::string& name) {
        const auto place = places_.find(name);
        if (place == places_.end()) return;
        for (const auto& maker : program_.statements) {
          if (maker.target == place->second.base && LiesLast(maker)) images.insert(maker.target);
        }
      });
    }
    return images;
  }

  bool IsLegal() const { return std::holds_alternative<dsl::KernelProgram>(dsl::Check(program_, nullptr, device_)); }

  // What a convolution whose result a norm goes over ends with is left to the library, where it can be: a trip through
  // memory less. All at once, as a check is of the whole program. False if the language does not take that either way.
  bool EndInLibrary() {
    std::vector<std::pair<dsl::Statement*, std::map<std::string, dsl::Setting>>> ended;  // with what they had
    for (dsl::Statement& maker : program_.statements) {
      if (!images_.contains(maker.target) || !LiesLast(maker)) continue;
      ended.emplace_back(&maker, maker.settings);
      maker.settings["end"] = {"library"};
    }
    if (IsLegal()) return true;
    for (auto& [maker, before] : ended) maker->settings = before;
    if (!IsLegal()) return false;
    for (auto& [maker, before] : ended) {
      maker->settings["end"] = {"library"};
      if (!IsLegal()) maker->settings = before;
    }
    return true;
  }

  // The dimensions of `shape` as they come with the channels of `image` last; nothing if some are of two kinds.
  static std::optional<std::vector<std::size_t>> Order(const Shape& shape, const Shape& image) {
    const std::int64_t pixels = ElementCount(image) / (image[0] * image[1]);
    const std::int64_t counts[] = {image[0], image[1], pixels};
    std::int64_t found[] = {1, 1, 1};
    std::vector<std::size_t> kinds[3];
    const auto strides = DenseStrides(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::size_t kind = strides[d] >= image[1] * pixels ? 0 : strides[d] >= pixels ? 1 : 2;
      kinds[kind].push_back(d);
      found[kind] *= shape[d];
    }
    if (!std::equal(found, found + 3, counts)) return std::nullopt;
    std::vector<std::size_t> order = kinds[0];
    order.insert(order.end(), kinds[2].begin(), kinds[2].end());
    order.insert(order.end(), kinds[1].begin(), kinds[1].end());
    return order;
  }

  bool TurnOne(std::size_t s, const Shape& result) {
    dsl::Statement& norm = program_.statements[s];
    if (norm.family != "norm" || !norm.also.empty() || norm.has_target_shape) return false;
    const std::set<std::string> images = ImagesOf(norm);
    if (images.empty()) return false;
    const auto image = ReadBy(norm.target);
    if (!image || image->size() < 3) return false;
    const auto order = Order(result, *image);
    if (!order) return false;
    std::map<std::string, std::string> turned;
    for (dsl::TermPtr* term : TermsOf(norm)) {
      *term = Renamed(*term, [&](const std::string& name) {
        const auto place = places_.find(name);
        if (place == places_.end()) return name;  // a let
        auto& other = turned[name];
        if (other.empty()) other = TurnedView(name, place->second, *order, result.size());
        return other;
      });
    }
    for (auto& axis : norm.axes)
      axis = static_cast<int>(std::find(order->begin(), order->end(), static_cast<std::size_t>(axis)) - order->begin());
    std::sort(norm.axes.begin(), norm.axes.end());
    norm.settings.clear();
    for (auto& view : program_.views) {
      if (view.base == norm.target) view.strides = dsl::ChannelsLastStrides(view.shape);
    }
    images_.insert(images.begin(), images.end());
    return true;
  }

  // A view of the same elements with its dimensions, which broadcast to so many, in another order.
  std::string TurnedView(const std::string& name, const Place& place, const std::vector<std::size_t>& order,
                         std::size_t rank) {
    dsl::View view{.name = name + "_turned", .base = place.base, .shape = {}, .strides = {}, .offset = place.offset};
    while (places_.contains(view.name)) view.name += "_";
    const std::size_t missing = rank - place.shape.size();
    for (const std::size_t d : order) {
      view.shape.push_back(d < missing ? 1 : place.shape[d - missing]);
      view.strides.push_back(d < missing ? 0 : place.strides[d - missing]);
    }
    places_[view.name] = {view.base, view.shape, view.strides, view.offset};
    program_.views.push_back(view);
    return view.name;
  }

  dsl::Program program_;
  const DeviceModel& device_;
  std::map<std::string, Place> places_;  // by name
  std::set<std::string> images_;         // what convolutions make that turned norms go over
};

}  // namespace

std::optional<dsl::Program> WithTurnedNorms(dsl::Program program, const dsl::KernelProgram& checked,
                                            const DeviceModel& device) {
  return NormTurner(std::move(program), device).Turn(checked);
}

}  // namespace hone::expert
