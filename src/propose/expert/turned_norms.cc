#include "propose/expert/turned_norms.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cuda/channels_last.h"
#include "dsl/kernel.h"
#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

class NormTurner {
 public:
  NormTurner(dsl::Program program, const DeviceModel& device) : program_(std::move(program)), device_(device) {}

  std::optional<dsl::Program> Turn(const dsl::KernelProgram& checked) {
    if (checked.kernels.size() != program_.statements.size()) return std::nullopt;
    places_ = NamedPlacesIn(program_, checked);
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
      *term = WithNames(*term, [&](const std::string& name) -> dsl::TermPtr {
        if (!places_.contains(name)) return nullptr;  // a let
        auto& other = turned[name];
        if (other.empty()) other = AddTurnedView(program_, places_, name, *order);
        return dsl::Name(other);
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

  dsl::Program program_;
  const DeviceModel& device_;
  NamedPlaces places_;
  std::set<std::string> images_;  // what convolutions make that turned norms go over
};

}  // namespace

std::optional<dsl::Program> WithTurnedNorms(dsl::Program program, const dsl::KernelProgram& checked,
                                            const DeviceModel& device) {
  return NormTurner(std::move(program), device).Turn(checked);
}

}  // namespace hone::expert
