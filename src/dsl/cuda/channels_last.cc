#include "dsl/cuda/channels_last.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "dsl/cuda/conv_product.h"
#include "dsl/cuda/convolution_library.h"
#include "dsl/cuda/library.h"
#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/once.h"
#include "dsl/shape/convolution.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

// [N, C, pixels]: extents, and the strides of its two layouts.
struct Planes {
  std::int64_t batch = 1, channels = 1, pixels = 1;
  std::array<std::int64_t, 3> extents() const { return {batch, channels, pixels}; }
  std::array<std::int64_t, 3> first() const { return {channels * pixels, pixels, 1}; }
  std::array<std::int64_t, 3> last() const { return {channels * pixels, 1, channels}; }
};

Planes PlanesOf(const Shape& shape) {
  Planes planes{.batch = shape[0], .channels = shape[1]};
  for (std::size_t d = 2; d < shape.size(); ++d) planes.pixels *= shape[d];
  return planes;
}

bool ReadsChannelsLast(const Kernel& kernel) { return kernel.way->reads_channels_last; }
bool EndsAsItWrites(const Kernel& kernel) { return ReadsChannelsLast(kernel) || kernel.way->reads_as_it_lies; }

bool LiesChannelsLast(const Kernel& kernel, int input) {
  if (ReadsChannelsLast(kernel)) return LiesForTiles(kernel, input);
  if (kernel.way->reads_as_it_lies) return true;
  const ConvolutionOperand role = ConvolutionOperandOf(kernel, input);
  const auto want = ChannelsLastStrides(role.shape);
  const KernelOperand& operand = InputOperand(kernel, static_cast<std::size_t>(input));
  for (std::size_t d = 0; d < role.dims.size(); ++d) {
    if (role.shape[d] != 1 && operand.strides[role.dims[d]] != want[d]) return false;
  }
  return true;
}

// Whether it ends elements before it writes them: the library alone may leave that to another kernel.
bool EndsItself(const Kernel& kernel) { return !kernel.settings.contains("end") || EndsInLibrary(kernel); }

bool IsSplit(const Kernel& kernel) { return ReadsChannelsLast(kernel) || MakesChannelsLast(kernel); }

// Steps along the dimensions of [N, C, pixels] that a walk of these strides and extents makes from `offset`, as strides
// of the other layout; nothing if some step goes along two of them at once.
struct Walk {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};
std::optional<Walk> Turned(const Planes& planes, const std::vector<std::int64_t>& strides,
                           const std::vector<std::int64_t>& extents, std::int64_t offset) {
  const auto from = planes.first(), to = planes.last(), size = planes.extents();
  std::array<std::int64_t, 3> furthest{};
  Walk walk;
  for (std::size_t p = 0; p < 3; ++p) {
    furthest[p] = offset / from[p];
    walk.offset += furthest[p] * to[p];
    offset %= from[p];
  }
  for (std::size_t d = 0; d < strides.size(); ++d) {
    walk.strides.push_back(0);
    if (strides[d] == 0 || extents[d] == 1) continue;
    if (strides[d] < 0) return std::nullopt;
    std::size_t p = 0;
    while (p < 2 && (size[p] == 1 || strides[d] < from[p])) ++p;
    if (strides[d] % from[p] != 0) return std::nullopt;
    const std::int64_t step = strides[d] / from[p];
    furthest[p] += step * (extents[d] - 1);
    walk.strides.back() = step * to[p];
  }
  for (std::size_t p = 0; p < 3; ++p) {
    if (furthest[p] >= size[p]) return std::nullopt;
  }
  return walk;
}

// The fold over images and their channels apart, where it goes over both as one dimension, as a mean of each plane may;
// nothing if it does not, or counts with that dimension. Channels come last where nothing else stays behind them, so
// that neighbouring threads read neighbours: 64 images of 56 x 56 x 144 took 182 us with the pixels last.
std::optional<Kernel> WithChannelsApart(const Kernel& kernel, int made, const Planes& planes) {
  if (kernel.family->name != "reduce") return std::nullopt;
  const auto both = [&](std::size_t d) {
    const bool planes_of_all = std::any_of(kernel.operands.begin(), kernel.operands.end(), [&](const auto& operand) {
      return operand.buffer == made && operand.strides[d] == planes.pixels;
    });
    return planes_of_all && kernel.space[d].extent == planes.batch * planes.channels;
  };
  std::size_t d = 0;
  while (d < kernel.space.size() && !both(d)) ++d;
  const std::vector<int> kept = ResultDims(kernel);
  const auto at = std::find(kept.begin(), kept.end(), static_cast<int>(d));
  if (planes.batch == 1 || planes.channels == 1 || at == kept.end()) return std::nullopt;
  const auto place = static_cast<std::ptrdiff_t>(d);
  const IndexVar whole = kernel.space[d], batch = NewIndex(planes.batch), channel = NewIndex(planes.channels);
  Kernel apart = kernel;
  apart.space[d] = batch;
  apart.space.insert(apart.space.begin() + place + 1, channel);
  for (int& axis : apart.axes) axis += axis > static_cast<int>(d) ? 1 : 0;
  for (KernelOperand& operand : apart.operands) {
    operand.strides.insert(operand.strides.begin() + place, operand.strides[d] * planes.channels);
  }
  const bool innermost = at + 1 == kept.end() && d + 1 < kernel.space.size();
  const auto rotate = [&](auto& of) {
    if (innermost) std::rotate(of.begin() + place + 1, of.begin() + place + 2, of.end());
  };
  if (innermost) {
    rotate(apart.space);
    for (int& axis : apart.axes) axis -= axis > static_cast<int>(d) ? 1 : 0;
    for (KernelOperand& operand : apart.operands) rotate(operand.strides);
    // They are for rows that are folded.
    apart.settings.clear();
  }
  const auto row = at - kept.begin();
  apart.result[static_cast<std::size_t>(row)] = planes.batch;
  apart.result.insert(apart.result.begin() + row + 1, planes.channels);
  bool counts = false;
  const auto change = [&](Expr& expr) {
    if (!expr) return;
    expr = ReplaceLoads(expr, [&](const ExprNode& load) {
      std::vector<Expr> indices;
      for (const Expr& index : load.operands) {
        const bool is = index->kind == Expr::Kind::kIndex && index->index.id == whole.id;
        indices.push_back(is ? Expr(batch) : index);
        if (is) indices.emplace_back(channel);
      }
      rotate(indices);
      return Load(load.buffer, std::move(indices), load.type);
    });
    Visit(expr, [&](const ExprNode& node) { counts |= node.kind == Expr::Kind::kIndex && node.index.id == whole.id; });
  };
  for (Expr& input : apart.inputs) change(input);
  for (KernelLet& let : apart.lets) {
    change(let.body);
    change(let.finish);
  }
  change(apart.epilogue);
  for (KernelAlso& also : apart.also) change(also.value);
  return counts ? std::nullopt : std::optional(std::move(apart));
}

class Splitter {
 public:
  explicit Splitter(KernelProgram program) : program_(std::move(program)) {}

  KernelProgram Split() {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      if (MakesChannelsLast(program_.kernels[k])) StayAsMade(k);
    }
    std::vector<Kernel> kernels;
    kernels.swap(program_.kernels);
    for (Kernel& kernel : kernels) {
      if (IsSplit(kernel)) {
        SplitOne(std::move(kernel));
      } else {
        program_.kernels.push_back(std::move(kernel));
      }
    }
    return std::move(program_);
  }

 private:
  KernelBuffer& buffer(int id) { return program_.buffers[static_cast<std::size_t>(id)]; }

  // Has everyone who reads the result of kernel `k` read it channels last, if all can and nobody else looks at it.
  void StayAsMade(std::size_t k) {
    const int made = program_.kernels[k].target;
    if (buffer(made).home != KernelBuffer::Home::kIntermediate) return;
    const Planes planes = PlanesOf(program_.kernels[k].result);
    std::vector<Kernel> changed = program_.kernels;
    for (Kernel& reader : changed) {
      if (std::none_of(reader.operands.begin(), reader.operands.end(),
                       [&](const KernelOperand& operand) { return operand.buffer == made; }))
        continue;
      auto last = ReadingLast(reader, made, planes);
      if (const auto apart = last ? std::nullopt : WithChannelsApart(reader, made, planes))
        last = ReadingLast(*apart, made, planes);
      if (!last || !MadeLegal(reader, *last)) return;
      reader = std::move(*last);
    }
    program_.kernels = std::move(changed);
    stays_.push_back(made);
  }

  // The reader with the steps of what lies channels last; nothing if some go along two of its dimensions at once.
  static std::optional<Kernel> ReadingLast(Kernel reader, int made, const Planes& planes) {
    for (KernelOperand& operand : reader.operands) {
      if (operand.buffer != made) continue;
      std::vector<std::int64_t> extents = operand.extents;
      if (extents.empty()) {
        for (const auto& index : reader.space) extents.push_back(index.extent);
      }
      auto walk = Turned(planes, operand.strides, extents, operand.offset);
      if (!walk) return std::nullopt;
      operand.strides = std::move(walk->strides);
      operand.offset = walk->offset;
    }
    return reader;
  }

  // Whether it can be made as it reads now. What it was set to for how its operands lay is left to the default, as are
  // defaults for that: a map that reads across memory now makes squares.
  bool MadeLegal(const Kernel& before, Kernel& kernel) const {
    for (const Knob& knob : KnobsOf(kernel)) {
      const auto setting = kernel.settings.find(std::string(knob.name));
      if (setting == kernel.settings.end()) continue;
      const auto values =
          knob.values && kernel.space.size() == before.space.size() ? knob.values(before) : std::vector<Setting>();
      const bool is_default = !values.empty() && values.front() == setting->second;
      if (is_default || (knob.check && knob.check(kernel, setting->second))) kernel.settings.erase(setting);
    }
    FillSettings(kernel);
    return !kernel.family->check || !kernel.family->check(program_, kernel);
  }

  void SplitOne(Kernel kernel) {
    const bool stays = std::find(stays_.begin(), stays_.end(), kernel.target) != stays_.end();
    const bool ended = IsPlainEnd(kernel) || EndsItself(kernel);
    // What ends elements as it writes them writes them first where they cannot stay last. What weights are copied as
    // depends on that.
    if (EndsAsItWrites(kernel) && !stays) kernel.settings[std::string(kLayoutKnob)] = Word(std::string(kChannelsFirst));
    for (const int input : {0, 1}) {
      if (!LiesChannelsLast(kernel, input)) Copy(kernel, input);
    }
    if (!MakesChannelsLast(kernel)) return program_.kernels.push_back(std::move(kernel));
    std::optional<Kernel> end;
    if (!ended || !stays) {
      const int made = stays ? kernel.target : NewBuffer(kernel, "last", kernel.result, buffer(kernel.target).dtype);
      end = End(kernel, made, stays);
      kernel.target = made;
    }
    program_.kernels.push_back(std::move(kernel));
    if (end) program_.kernels.push_back(std::move(*end));
  }

  int NewBuffer(const Kernel& kernel, const std::string& hint, Shape shape, DType dtype) {
    const std::string base = buffer(kernel.target).name + "_" + hint;
    std::string name = base;
    const auto taken = [&](const std::string& text) {
      return std::any_of(program_.buffers.begin(), program_.buffers.end(),
                         [&](const KernelBuffer& one) { return one.name == text; });
    };
    for (int n = 2; taken(name); ++n) name = base + "_" + std::to_string(n);
    program_.buffers.push_back({.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  // [N, C, spatial..] as it lies with the channels last: N, spatial.., C.
  template <class T>
  static std::vector<T> Last(const std::vector<T>& of) {
    std::vector<T> last = of;
    std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    return last;
  }

  void Copy(Kernel& kernel, int input) {
    const TileCopy role = CopyOf(kernel, input);
    const KernelOperand& operand = InputOperand(kernel, static_cast<std::size_t>(input));
    const DType dtype = buffer(operand.buffer).dtype;
    const bool once = buffer(operand.buffer).home == KernelBuffer::Home::kParameter;
    const int copy = NewBuffer(kernel, input == 0 ? "x_last" : "w_last", role.shape, dtype);
    const auto tiles = TileDimsOf(kernel, input, role);
    std::vector<IndexVar> space;
    std::vector<std::int64_t> strides;
    if (tiles) {
      for (const TileDim& dim : *tiles) {
        space.push_back(NewIndex(dim.extent));
        strides.push_back(operand.strides[role.dims[dim.of]] * dim.step);
      }
    } else {
      for (const std::int64_t extent : Last(role.shape)) space.push_back(NewIndex(extent));
      for (const std::size_t d : Last(role.dims)) strides.push_back(operand.strides[d]);
    }
    const bool as_it_is = tiles || (role.of == role.shape && !role.backwards);
    Kernel made = MapBeside(kernel, space, copy);
    made.operands = {{.buffer = operand.buffer, .strides = std::move(strides), .offset = operand.offset}};
    made.operand_types = {dtype};
    made.target_type = dtype;
    if (as_it_is) {
      made.epilogue = Load(0, std::vector<Expr>(space.begin(), space.end()), ScalarType::kReal);
    } else {
      made.family = FindFamily("nest");
      made.operands[0].extents = Last(role.of);
      made.epilogue = ElementOf(kernel, input, role, space);
    }
    SettleMap(made);
    if (once) made.attributes[kPrepared] = {1};
    program_.kernels.push_back(std::move(made));
    // An operand of its own: the end may read the other one.
    KernelOperand copied{.buffer = copy, .strides = std::vector<std::int64_t>(kernel.space.size(), 0)};
    const auto lies = ChannelsLastStrides(role.shape);
    for (std::size_t d = 0; d < role.dims.size(); ++d) copied.strides[role.dims[d]] = lies[d];
    Expr& read = kernel.inputs[static_cast<std::size_t>(input)];
    read = Load(static_cast<int>(kernel.operands.size()), read->operands, read->type);
    kernel.operands.push_back(std::move(copied));
    kernel.operand_types.push_back(dtype);
  }

  static TileCopy CopyOf(const Kernel& kernel, int input) {
    if (ReadsChannelsLast(kernel)) return TileCopyOf(kernel, input);
    const ConvolutionOperand role = ConvolutionOperandOf(kernel, input);
    return {.dims = role.dims, .of = role.shape, .shape = role.shape};
  }

  // From `made`, which lies channels last, to the kernel's target, which does if it `stays`.
  Kernel End(Kernel kernel, int made, bool stays) {
    if (EndsItself(kernel)) kernel.epilogue = Value(kIt, ScalarType::kReal);
    std::vector<int> dims = ResultDims(kernel);
    auto strides = ChannelsLastStrides(kernel.result);
    if (stays) {
      dims = Last(dims);
      strides = Last(strides);
    }
    return EndMap(kernel, dims, {.buffer = made, .strides = std::move(strides)}, buffer(made).dtype);
  }

  KernelProgram program_;
  std::vector<int> stays_;  // buffers that lie channels last
};

}  // namespace

std::vector<std::int64_t> ChannelsLastStrides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t step = shape[1];
  for (std::size_t d = shape.size(); d-- > 2; step *= shape[d]) strides[d] = step;
  strides[0] = step;
  return strides;
}

bool MakesChannelsLast(const Kernel& kernel) {
  return kernel.settings.contains(std::string(kLayoutKnob)) &&
         WordSetting(kernel, std::string(kLayoutKnob)) == kChannelsLast;
}

double BytesBeside(const KernelProgram& program, const Kernel& kernel) {
  const auto bytes = [&](int buffer) {
    const KernelBuffer& of = program.buffers[static_cast<std::size_t>(buffer)];
    return static_cast<double>(ElementCount(of.shape)) * static_cast<double>(Bytes(of.dtype));
  };
  const bool last = MakesChannelsLast(kernel);
  double moved = 0;
  if (IsSplit(kernel) && kernel.inputs[0]->kind == Expr::Kind::kLoad && !LiesChannelsLast(kernel, 0)) {
    const int x = InputOperand(kernel, 0).buffer;
    const bool made_so = std::any_of(program.kernels.begin(), program.kernels.end(), [&](const Kernel& maker) {
      return maker.family == kernel.family && maker.target == x && MakesChannelsLast(maker);
    });
    if (!made_so) moved += 2 * bytes(x);
  }
  const KernelBuffer& made = program.buffers[static_cast<std::size_t>(kernel.target)];
  const bool turned = last && !EndsAsItWrites(kernel) && made.home != KernelBuffer::Home::kIntermediate;
  if (turned || !(EndsItself(kernel) || IsPlainEnd(kernel))) moved += 2 * bytes(kernel.target);
  return moved;
}

bool CanLieChannelsLast(const Kernel& kernel) { return kernel.compute != DType::kF64 && LibraryConvolves(kernel); }

KernelProgram SplitChannelsLast(KernelProgram program) {
  if (std::none_of(program.kernels.begin(), program.kernels.end(), IsSplit)) return program;
  return Splitter(std::move(program)).Split();
}

}  // namespace hone::dsl
