#include "dsl/cpu/convolution_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/rounding.h"
#include "dsl/cpu/convolution.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostBlock = 1 << 18;  // elements of a block of inputs, which lies on the thread's stack

// The largest phase: blocks and panels are made for it.
std::array<Phase, 3> LargestPhase(const Convolution& conv) {
  std::array<Phase, 3> largest;
  for (std::size_t d = 0; d < 3; ++d) {
    largest[d] = conv.phases[d][0];
    for (const auto& phase : conv.phases[d]) {
      if (phase.taps > largest[d].taps) largest[d] = phase;
    }
  }
  return largest;
}

bool IsDirect(const Kernel& kernel) { return kernel.way->name == "direct"; }
bool AlongChannels(const Kernel& kernel) {
  return kernel.settings.contains("along") && WordSetting(kernel, "along") == "channels";
}

using Block = std::array<std::int64_t, 2>;  // output channels x pixels in registers

// The time of a product in such blocks, where 1 is what the processor could do.
double MicroCost(const Kernel& kernel, const Convolution& conv, const Block& block, bool channels_along) {
  const auto phase = LargestPhase(conv);
  const bool direct = IsDirect(kernel);
  const auto part = [](std::int64_t all, std::int64_t step) {
    return static_cast<double>(RoundUp(all, step)) / static_cast<double>(all);
  };
  double used = part(conv.made, block[0]);
  if (!direct) {
    used *= part(conv.batch * conv.Pixels(), block[1]);
  } else if (channels_along) {
    used *= part(phase[2].positions, block[1]);
  } else {
    const DirectBlock whole(phase, phase[1].positions * phase[2].positions);
    used *= static_cast<double>(RoundUp((whole.rows - 1) * whole.pitch + whole.columns, block[1])) /
            static_cast<double>(whole.rows * whole.columns);
    used *= 1.08;  // vectors that lie across cache lines
  }
  // The vectors come from L2 once for all rows of the block, the single elements from L1 once for all of its vectors.
  const std::int64_t rows = channels_along ? block[1] : block[0], lanes = channels_along ? block[0] : block[1];
  used *= 1 + 0.6 / static_cast<double>(rows) + 5.0 / static_cast<double>(lanes);
  // Pixels that are not the vectors are gathered and stored one by one.
  if (channels_along) used *= 1 + 40.0 / static_cast<double>(conv.channels * conv.Taps());
  if (channels_along && !direct) used *= 1 + 24.0 / static_cast<double>(conv.made);
  return used;
}

std::vector<Block> Blocks(const Kernel& kernel, bool channels_along) {
  const Convolution conv(kernel);
  // 32 registers of 16 floats with AVX-512, 16 of 8 with AVX2, less what one side's vectors and the other's element
  // need.
  std::vector<Block> blocks;
  if (kernel.device->vector_bytes >= 64) {
    if (channels_along) {
      blocks = {{64, 7},  {64, 6},  {64, 5},  {48, 9},  {48, 8}, {32, 14},
                {32, 13}, {32, 12}, {32, 10}, {16, 28}, {16, 14}};
    } else {
      blocks = {{8, 48}, {14, 32}, {12, 32}, {8, 32}, {6, 64}, {4, 96}, {2, 128}, {1, 128}, {16, 16}, {1, 32}};
    }
  } else if (channels_along) {
    blocks = {{16, 6}, {16, 7}, {16, 5}, {24, 4}, {8, 14}, {8, 12}};
  } else {
    blocks = {{6, 16}, {4, 24}, {4, 16}, {8, 8}, {2, 32}, {1, 64}, {1, 16}};
  }
  std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) {
    return MicroCost(kernel, conv, a, channels_along) < MicroCost(kernel, conv, b, channels_along);
  });
  return blocks;
}

// Elements of inputs that a thread copies for blocks of so many pixels and input channels.
std::int64_t BlockCount(const Kernel& kernel, std::int64_t pixels, std::int64_t channels) {
  const Convolution conv(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t nr = micro.size() == 2 ? micro[1] : 32;
  channels = std::min(channels, conv.channels);
  if (!IsDirect(kernel)) {
    const auto phase = LargestPhase(conv);
    const std::int64_t all = conv.batch * phase[0].positions * phase[1].positions * phase[2].positions;
    return std::min(pixels, RoundUp(all, nr)) * channels * phase[0].taps * phase[1].taps * phase[2].taps;
  }
  std::int64_t most = 0;
  for (const auto& z : conv.phases[0]) {
    for (const auto& y : conv.phases[1]) {
      for (const auto& x : conv.phases[2]) {
        const DirectBlock block({z, y, x}, pixels);
        // Both factors are bounded, so that the product does not overflow.
        if (block.cube > kMostBlock || channels > kMostBlock) return 2 * kMostBlock;
        most = std::max(most, block.Count(channels, nr));
      }
    }
  }
  return most;
}

}  // namespace

std::optional<double> ConvCost(const Kernel& kernel, ConvInputs inputs) {
  const Convolution conv(kernel);
  const Phase x = LargestPhase(conv)[2];
  // Rows hold what stands between them too, if pixels are the vectors; packing copies every input once a tap.
  const double waste = static_cast<double>(x.Span() / x.in_step) / static_cast<double>(x.positions);
  const bool rows = conv.made < 4 || (conv.Taps() > 1 && (waste < 0.25 || conv.made >= 32));
  return rows == (inputs == ConvInputs::kRows) ? 1.5 : 2;
}

std::vector<Setting> ConvThreads(const Kernel& kernel) { return ThreadsFor(kernel, kernel.family->flops(kernel)); }

std::vector<Setting> ConvAlongValues(const Kernel& kernel) {
  const Convolution conv(kernel);
  const bool channels =
      MicroCost(kernel, conv, Blocks(kernel, true)[0], true) < MicroCost(kernel, conv, Blocks(kernel, false)[0], false);
  return channels ? std::vector<Setting>{Word("channels"), Word("pixels")}
                  : std::vector<Setting>{Word("pixels"), Word("channels")};
}
std::optional<std::string> CheckConvAlong(const Kernel&, const Setting& value) {
  return CheckWord(value, {"pixels", "channels"});
}

std::vector<Setting> ConvMicroValues(const Kernel& kernel) {
  const auto blocks = Blocks(kernel, AlongChannels(kernel));
  std::vector<Setting> values;
  for (std::size_t i = 0; i < std::min<std::size_t>(blocks.size(), 6); ++i)
    values.push_back(Tuple({blocks[i][0], blocks[i][1]}));
  return values;
}
std::optional<std::string> CheckConvMicro(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is output channels x pixels; try 8x32";
  const bool channels_along = AlongChannels(kernel);
  const std::int64_t rows = (*tuple)[channels_along ? 1 : 0], lanes = (*tuple)[channels_along ? 0 : 1];
  if (rows < 1 || rows > 32) {
    return channels_along ? "along channels the second goes from 1 to 32; try 7" : "the first goes from 1 to 32; try 8";
  }
  if (lanes < 8 || lanes > 128 || lanes % 8 != 0) {
    return fmt::format("the {} must be a multiple of 8 up to 128; try {}",
                       channels_along ? "first, along channels," : "second",
                       std::clamp<std::int64_t>(RoundUp(lanes, 8), 8, 128));
  }
  return std::nullopt;
}

std::vector<Setting> ConvTileValues(const Kernel& kernel) {
  const Convolution conv(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t mr = micro.size() == 2 ? micro[0] : 8, nr = micro.size() == 2 ? micro[1] : 32;
  const auto phase = LargestPhase(conv);
  const bool direct = IsDirect(kernel);
  const std::int64_t image = phase[1].positions * phase[2].positions;
  const std::int64_t all = direct ? image : conv.batch * phase[0].positions * image;
  const int threads = kernel.device->threads;
  const std::int64_t most = std::min(kMostBlock, kernel.device->l2_bytes / 6 / 4);
  // All channels at once if a few pixels of them fit; else equal parts.
  std::int64_t channels = conv.channels;
  for (std::int64_t parts = 2; BlockCount(kernel, nr, channels) > most && channels > 1; ++parts)
    channels = (conv.channels + parts - 1) / parts;
  // Enough blocks for the threads to share evenly, then as many pixels as fit.
  const double others =
      static_cast<double>(direct ? conv.batch * phase[0].positions : 1) * static_cast<double>(conv.groups);
  const double wanted = threads > 1 ? 4.0 * threads / std::min(others, 4.0 * threads) : 1;
  const auto pixels_at_most = [&](std::int64_t budget) {
    std::int64_t pixels = direct ? image : RoundUp(all, nr);
    while (BlockCount(kernel, pixels, channels) > budget && pixels > nr) pixels = RoundUp(pixels / 2, nr);
    return pixels;
  };
  const auto rows = [&](std::int64_t pixels) {  // direct blocks are whole rows
    const std::int64_t width = phase[2].positions;
    return direct && pixels >= width ? RoundUp(pixels / width * width, nr) : RoundUp(pixels, nr);
  };
  std::int64_t pixels = pixels_at_most(most);
  std::int64_t made = RoundUp(conv.made, mr);
  const auto split_made = [&](double pieces) {
    made = std::min(
        made, std::max(mr, RoundUp(static_cast<std::int64_t>(static_cast<double>(conv.made) / pieces + 0.999), mr)));
    return static_cast<double>((conv.made + made - 1) / made);
  };
  // Every block of pixels reads all of its weights, every block of output channels copies its inputs: what is larger is
  // read less often.
  const double weights = static_cast<double>(conv.made * conv.channels * conv.Taps());
  const double inputs = static_cast<double>(all * conv.channels) *
                        static_cast<double>(phase[1].in_step * phase[2].in_step * (direct ? 1 : conv.Taps()));
  double shared = 1;  // into how many blocks of output channels
  if (weights > 2 * inputs && 4 * weights > static_cast<double>(kernel.device->l2_bytes) / 4)
    shared = split_made(wanted);
  const double enough = shared * others >= 2 * threads ? shared : wanted;
  const auto fair = static_cast<std::int64_t>(static_cast<double>(all) * shared / enough + 0.999);
  // Blocks of some size even if fewer than wanted: their borders are copied twice.
  pixels = std::min(pixels, std::max(fair, std::min<std::int64_t>(all, direct ? 2 * phase[2].positions : 2 * nr)));
  const double blocks = static_cast<double>((all + pixels - 1) / pixels);
  if (shared * blocks * 2 < enough) split_made(wanted / blocks);
  pixels = rows(pixels);
  if (direct && phase[2].positions < pixels) {
    // Of the numbers of rows up to here, what computes and copies least, with blocks that the threads share evenly.
    const auto most_rows = std::min(pixels / phase[2].positions, phase[1].positions);
    double least = 0;
    for (std::int64_t count = most_rows; count >= std::max<std::int64_t>(1, most_rows / 3); --count) {
      const std::int64_t blocks_of_image = (phase[1].positions + count - 1) / count;
      double lanes = 0;
      for (std::int64_t row = 0; row < phase[1].positions; row += count) {
        const std::int64_t here = std::min(count, phase[1].positions - row);
        lanes += static_cast<double>(
            AlongChannels(kernel)
                ? here * RoundUp(phase[2].positions, nr)
                : RoundUp((here - 1) * (phase[2].positions + phase[2].Span() / phase[2].in_step) + phase[2].positions,
                          nr));
        // A copied row costs about what five channels' products of a tap do.
        lanes +=
            5.0 *
            static_cast<double>((here * phase[1].in_step + phase[1].Span()) * phase[2].positions * phase[2].in_step) /
            static_cast<double>(conv.made * conv.Taps());
      }
      const double tasks =
          others * static_cast<double>(blocks_of_image) * static_cast<double>((conv.made + made - 1) / made);
      const double rounds =
          std::max(1.0, static_cast<double>(static_cast<std::int64_t>((tasks + threads - 1) / threads)));
      const double cost = lanes * rounds * threads / tasks;
      if (least == 0 || cost < least) {
        least = cost;
        pixels = RoundUp(count * phase[2].positions, nr);
      }
    }
  }
  std::vector<Setting> values = {Tuple({made, pixels, channels})};
  const auto add = [&](std::int64_t m, std::int64_t p, std::int64_t c) {
    const Setting setting = Tuple({m, p, c});
    if (BlockCount(kernel, p, c) <= kMostBlock && std::find(values.begin(), values.end(), setting) == values.end())
      values.push_back(setting);
  };
  add(made, rows(std::max(nr, pixels / 2)), channels);
  add(made, rows(pixels * 2), channels);
  add(std::max(mr, RoundUp(made / 2, mr)), pixels, channels);
  add(made, pixels, std::max<std::int64_t>(1, (channels + 1) / 2));
  return values;
}
std::optional<std::string> CheckConvTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 3) return "it is output channels x pixels x input channels; try 64x256x64";
  for (const auto part : *tuple) {
    if (part < 1 || part > 1 << 30) return "each part is 1 at least; try 64x256x64";
  }
  const auto micro = TupleSetting(kernel, "micro");
  if (micro.size() != 2) return std::nullopt;
  if ((*tuple)[0] % micro[0] != 0) {
    return fmt::format("the first must be a multiple of micro's {} output channels; try {}", micro[0],
                       RoundUp((*tuple)[0], micro[0]));
  }
  if ((*tuple)[1] % micro[1] != 0) {
    return fmt::format("the second must be a multiple of micro's {} pixels; try {}", micro[1],
                       RoundUp((*tuple)[1], micro[1]));
  }
  if (BlockCount(kernel, (*tuple)[1], (*tuple)[2]) > kMostBlock) {
    return fmt::format(
        "the inputs of so many pixels and channels are a block on the stack, {} elements at most; try fewer",
        kMostBlock);
  }
  return std::nullopt;
}

std::vector<Setting> ConvPrepackValues(const Kernel&) { return {Word("auto"), Word("no")}; }
std::optional<std::string> CheckConvPrepack(const Kernel&, const Setting& value) {
  return CheckWord(value, {"auto", "no"});
}

}  // namespace hone::dsl
