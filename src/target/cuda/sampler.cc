#include "target/cuda/sampler.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "target/cuda/cupti_api.h"
#include "target/cuda/try.h"

namespace hone::cuda {
namespace {

using cupti::SampledPc;
using cupti::SampledPcs;

constexpr std::size_t kPcs = 8192;  // in one portion of what was sampled
constexpr std::size_t kScratchBytes = 16u << 20, kDeviceBytes = 128u << 20;

// By CUPTI's number.
using Reasons = std::map<std::uint32_t, std::string>;

Result<Reasons> ReasonsOf(const cupti::Api* api_, void* context) {
  std::size_t count = 0;
  cupti::StallReasonCount how_many{.context = context, .count = &count};
  HONE_CUPTI(stall_reason_count, how_many);
  std::vector<std::uint32_t> indices(count);
  std::vector<char> text(count * cupti::kStallName);
  std::vector<char*> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(text.data() + i * cupti::kStallName);
  cupti::StallReasons get{.context = context, .count = count, .indices = indices.data(), .names = names.data()};
  HONE_CUPTI(stall_reasons, get);
  Reasons reasons;
  for (std::size_t i = 0; i < count; ++i) reasons.emplace(indices[i], names[i]);
  return reasons;
}

// Room for a portion of what was sampled.
class Room {
 public:
  explicit Room(std::size_t reasons) : stalls_(kPcs * reasons), pcs_(kPcs) {
    for (std::size_t i = 0; i < kPcs; ++i) pcs_[i].stalls = stalls_.data() + i * reasons;
    data_.most = kPcs;
    data_.pcs = pcs_.data();
  }
  SampledPcs& data() { return data_; }

  // Moves what is there to `samples`, where several portions may speak of one address.
  void Take(const Reasons& reasons, Samples& samples) {
    for (std::size_t i = 0; i < data_.count; ++i) {
      SampledPc& pc = pcs_[i];
      // CUPTI leaves the name to us and shares it between records, of later portions too: it is not freed.
      const std::string function = pc.function != nullptr ? pc.function : "";
      auto& addresses = samples.addresses;
      auto found = std::find_if(addresses.begin(), addresses.end(), [&](const SampledAddress& one) {
        return one.offset == pc.offset && one.function == function;
      });
      if (found == addresses.end()) found = addresses.insert(found, {.function = function, .offset = pc.offset});
      for (std::size_t s = 0; s < pc.stall_count; ++s) {
        const auto reason = reasons.find(pc.stalls[s].reason);
        if (pc.stalls[s].samples > 0 && reason != reasons.end()) found->stalls[reason->second] += pc.stalls[s].samples;
      }
    }
    samples.total += data_.samples;
    samples.of_others += data_.of_others;
    samples.dropped += data_.dropped;
    data_.count = 0;
  }

 private:
  std::vector<cupti::StallCount> stalls_;
  std::vector<SampledPc> pcs_;
  SampledPcs data_;
};

Result<Samples> SampleEnabled(const cupti::Api* api_, Context& context, int period,
                              const std::function<Try<void>()>& ask) {
  const auto reasons = HONE_TRY(ReasonsOf(api_, context.handle()));
  std::vector<std::uint32_t> indices;
  for (const auto& [index, name] : reasons) indices.push_back(index);
  Room at_the_end(reasons.size()), room(reasons.size());
  cupti::SamplingAttribute attributes[] = {
      {.attribute = cupti::kSamplingStalls, .value = indices.size(), .elements = indices.data()},
      {.attribute = cupti::kSamplingPeriod, .value = static_cast<std::uint64_t>(period)},
      {.attribute = cupti::kSamplingBuffer, .value = reinterpret_cast<std::uint64_t>(&at_the_end.data())},
      {.attribute = cupti::kSamplingScratchBytes, .value = kScratchBytes},
      {.attribute = cupti::kSamplingDeviceBytes, .value = kDeviceBytes},
      {.attribute = cupti::kSamplingMode, .value = cupti::kSamplingOneByOne},
  };
  cupti::SamplingConfig config{.context = context.handle(), .count = std::size(attributes), .attributes = attributes};
  HONE_CUPTI(sampling_config, config);
  HONE_TRY(FromDevice(ask()));
  HONE_TRY(FromDevice(context.WaitAll()));
  Samples samples;
  do {
    cupti::GetSamples get{.context = context.handle(), .data = &room.data()};
    HONE_CUPTI(get_samples, get);
    if (room.data().overflow != 0) return Fail(ErrorKind::kDevice, "CUPTI had not enough room for samples");
    room.Take(reasons, samples);
  } while (room.data().remaining > 0);
  cupti::OfSampledContext of{.context = context.handle()};
  HONE_CUPTI(sampling_disable, of);  // which hands on what is left
  at_the_end.Take(reasons, samples);
  return samples;
}

}  // namespace

Result<Samples> Sample(Context& context, int period, const std::function<Try<void>()>& ask) {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  cupti::OfSampledContext of{.context = context.handle()};
  HONE_CUPTI(sampling_enable, of);
  auto samples = SampleEnabled(api_, context, period, ask);
  if (!samples) api_->sampling_disable(&of);
  return samples;
}

}  // namespace hone::cuda
