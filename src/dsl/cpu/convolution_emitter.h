// Writes convolutions (cpu/convolution.h): the class, which its parts in several files share. convolution_emitter.cc
// has the texts, the packed weights and the product of a panel and some pixels, convolution_direct.cc and
// convolution_gemm.cc each a path around it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/cpu/convolution.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/window.h"

namespace hone::dsl {

enum class ConvPath : std::uint8_t { kDirect, kGemm, kLibrary };

class ConvEmitter {
 public:
  ConvEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer);

  void Emit(ConvPath path);

 private:
  using Conv = Convolution;
  using Index = std::array<std::string, Conv::kDims>;
  static Index Zeros();

  // --- Texts.

  std::string Element(int operand, const Index& index) const;
  std::string Target(const Index& index) const;
  std::string Epilogue(const Index& index, const std::string& it);
  // The output's place of position `m` of the current phase.
  std::string Out(int d, const std::string& m) const;
  // The channel of all, of one of this group's `extent`.
  std::string Group(const std::string& channel, std::int64_t extent) const;
  // Opens "for (long var ...)"; for an extent of 1 the variable stands for 0.
  std::string Open(const std::string& var, std::int64_t extent);
  void CloseAll();
  // The name of the vectors' type.
  std::string Vector();

  // The sums by oneDNN, where that is found when the module runs; what follows computes the kernel where it is not.
  void EmitLibrary();

  // No tap reaches these outputs, or there are no channels: the sum is 0.
  void EmitNothing() { EmitEpilogue(false); }

  // The chain over all outputs of the phase, of `it` or of what stands in the target.
  void EmitEpilogue(bool of_target);

  // --- What both paths have.

  // Writes PackW_y: the weights as panels of `mr` output channels, [group][panel][channel][tap][mr], with zeros beyond
  // the last channel.
  void PackWeights();
  // Where a panel's weights from channel c0 on stand. `i` is a multiple of mr.
  std::string Weights() const;

  // Writes Multiply_y: the sums over `depth` channels and all taps, for a panel of output channels and nr pixels.
  // `places`: where a tap's pixels stand in a channel's block, `step` elements from channel to channel.
  void WriteMultiply(const std::vector<std::int64_t>& places, std::int64_t step);

  // Opens a loop over blocks of `step`; where one is all, `var` becomes a constant.
  void OpenTasks(const std::string& var, std::int64_t extent, std::int64_t step);

  // How many channels the tile has.
  std::string TileRows() const { return Left("tile_rows", conv_.made, "o0 - i", mr_); }
  // Channel r, pixel l of the tile.
  std::string TileElement() const;
  std::int64_t VectorWidth() const { return channels_along_ ? mr_ : nr_; }

  // Stores the tile's sums, pixels from `begin` to `end`, at `target`, which names channel r's pixel l. Where the
  // channels come in parts their sums meet there. What is whole goes through the chain: `chain` gives its text for
  // `total`, and may write lines.
  void StoreSums(const std::string& begin, const std::string& end, const std::string& target,
                 const std::function<std::string()>& chain);

  // --- The paths.

  void EmitDirect();
  void EmitGemm();
  // The inputs under the windows of the block's pixels: panels of nr pixels, [panel][channel][tap][nr].
  void PackPixels(const std::string& depth, const std::string& products, std::int64_t all, std::int64_t image);

  // From the tile to the target: pixels in runs along which everybody's elements are evenly apart.
  void StorePixels(std::int64_t all);

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  Convolution conv_;
  std::int64_t mr_ = 8, nr_ = 32, panels_ = 1;  // output channels and pixels in registers
  bool channels_along_ = false;                 // whether channels are the vectors
  std::int64_t tile_made_ = 8, tile_pixels_ = 32, tile_channels_ = 1;
  // The phase that is being written.
  std::array<Phase, 3> phase_;
  std::int64_t taps_ = 1;
  std::string name_, weights_;
  std::string sums_;  // of parts of the channels, as the target lies; empty where it holds them itself
  int open_ = 0;
};

}  // namespace hone::dsl
