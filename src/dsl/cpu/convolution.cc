#include "dsl/cpu/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/loops.h"

namespace hone::dsl {

Convolution::Convolution(const Kernel& kernel) : transposed(kernel.variant == "transposed") {
  const auto& space = kernel.space;
  // N, O, s.., C', s.., C, s.., O'
  const std::size_t spatial = (space.size() - 5) / 3;
  std::vector<Dim> order = {kN, kO};
  const auto add = [&](Dim last_of_three) {
    for (std::size_t d = 0; d < spatial; ++d)
      order.push_back(static_cast<Dim>(static_cast<std::size_t>(last_of_three) + 1 - spatial + d));
  };
  add(kX);
  order.push_back(kC);
  add(kTapX);
  order.push_back(kIn);
  add(kInX);
  order.push_back(kMade);
  HONE_CHECK(order.size() == space.size(), "the space of a convolution");
  std::array<std::int64_t, kDims> extents;
  extents.fill(1);
  for (std::size_t d = 0; d < order.size(); ++d) extents[order[d]] = space[d].extent;
  batch = extents[kN];
  channels = extents[kC];
  made = extents[kMade];
  groups = made == 0 ? 1 : std::max<std::int64_t>(1, extents[kO] / made);
  for (std::size_t d = 0; d < 3; ++d) {
    WindowDim& dim = dims[d];
    dim.in = extents[kInZ + d];
    dim.out = extents[kZ + d];
    dim.window = extents[kTapZ + d];
    if (d + spatial >= 3) {
      const std::size_t at = d + spatial - 3;
      dim.stride = kernel.attributes.at("stride")[at];
      dim.dilation = kernel.attributes.at("dilation")[at];
      dim.padding = kernel.attributes.at("padding")[at];
    }
    phases[d] = transposed ? TransposedPhases(dim) : std::vector<Phase>{PhaseOf(dim)};
  }
  for (const auto& operand : kernel.operands) {
    std::array<std::int64_t, kDims> mine{};
    for (std::size_t d = 0; d < order.size(); ++d) mine[order[d]] = operand.strides[d];
    strides.push_back(mine);
  }
  std::int64_t step = 1;
  for (const Dim dim : {kX, kY, kZ, kO, kN}) {
    target[dim] = step;
    step *= extents[dim];
  }
}

double Convolution::Flops() const {
  double products = static_cast<double>(batch * groups * channels) * static_cast<double>(made * Taps());
  for (const auto& dim : dims) products *= static_cast<double>(transposed ? dim.in : dim.out);
  return 2 * products;
}

DirectBlock::DirectBlock(const std::array<Phase, 3>& phase, std::int64_t pixels) {
  const Phase &y = phase[1], &x = phase[2];
  columns = std::max<std::int64_t>(1, std::min(x.positions, pixels));
  rows = std::clamp<std::int64_t>(pixels / columns, 1, std::max<std::int64_t>(1, y.positions));
  phases_y = std::min(y.in_step, y.Span() + 1);
  phases_x = std::min(x.in_step, x.Span() + 1);
  pitch = columns + x.Span() / x.in_step;
  lines = rows + y.Span() / y.in_step;
  part = lines * pitch;
  plane = phases_y * phases_x * part;
  cube = std::max<std::int64_t>(1, phase[0].taps) * plane;
  // Channels a power of two apart would all meet in a few sets of the cache.
  if (cube % 128 == 0) cube += 16;
}

std::int64_t DirectBlock::Count(std::int64_t channels, std::int64_t pixels_at_a_time) const {
  return channels * cube + pixels_at_a_time + pitch;
}

// Whether oneDNN can read both operands where they lie.
bool LibraryTakes(const Kernel& kernel) {
  if (kernel.variant == "transposed") return false;
  const Convolution conv(kernel);
  using C = Convolution;
  const auto dense = [&](std::size_t input, const std::vector<std::pair<C::Dim, std::int64_t>>& dims) {
    const Expr& expr = kernel.inputs[input];
    if (expr->kind != Expr::Kind::kLoad || expr->buffer < 0) return false;
    const auto operand = static_cast<std::size_t>(expr->buffer);
    std::int64_t step = 1;
    bool all = kernel.operands[operand].offset == 0;
    for (std::size_t d = dims.size(); d-- > 0; step *= dims[d].second)
      all &= dims[d].second == 1 || conv.strides[operand][dims[d].first] == step;
    return all;
  };
  return dense(0, {{C::kN, conv.batch},
                   {C::kIn, conv.groups * conv.channels},
                   {C::kInZ, conv.dims[0].in},
                   {C::kInY, conv.dims[1].in},
                   {C::kInX, conv.dims[2].in}}) &&
         dense(1, {{C::kO, conv.groups * conv.made},
                   {C::kC, conv.channels},
                   {C::kTapZ, conv.dims[0].window},
                   {C::kTapY, conv.dims[1].window},
                   {C::kTapX, conv.dims[2].window}});
}

namespace {

using Conv = Convolution;

constexpr std::int64_t kChunk = 512;  // products that are summed one after the other

class ConvEmitter {
 public:
  ConvEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer), conv_(kernel) {
    const auto micro = TupleSetting(kernel, "micro"), tile = TupleSetting(kernel, "tile");
    mr_ = micro[0];
    nr_ = micro[1];
    channels_along_ = WordSetting(kernel, "along") == "channels";
    panels_ = (conv_.made + mr_ - 1) / mr_;
    tile_made_ = std::min(tile[0], panels_ * mr_);
    tile_pixels_ = tile[1];
    tile_channels_ = std::min(tile[2], conv_.channels);
  }

  void Emit() {
    const std::size_t all = conv_.phases[0].size() * conv_.phases[1].size() * conv_.phases[2].size();
    const bool direct = WordSetting(kernel_, "path") == "direct";
    if (WordSetting(kernel_, "path") == "library") EmitLibrary();
    int number = 0;
    for (const auto& z : conv_.phases[0]) {
      for (const auto& y : conv_.phases[1]) {
        for (const auto& x : conv_.phases[2]) {
          phase_ = {z, y, x};
          taps_ = z.taps * y.taps * x.taps;
          name_ = writer_.TargetName() + (all == 1 ? "" : fmt::format("_{}", number));
          if (all > 1) {
            writer_.Comment(fmt::format("Outputs from ({}, {}, {}) on, every ({}, {}, {}).", z.out_start, y.out_start,
                                        x.out_start, z.out_step, y.out_step, x.out_step));
          }
          ++number;
          if (taps_ == 0 || conv_.channels == 0) {
            EmitNothing();
            continue;
          }
          PackWeights();
          if (direct) {
            EmitDirect();
          } else {
            EmitGemm();
          }
        }
      }
    }
  }

 private:
  using Index = std::array<std::string, Conv::kDims>;
  static Index Zeros() {
    Index index;
    index.fill("0");
    return index;
  }

  std::string Element(int operand, const Index& index) const {
    const auto& strides = conv_.strides[static_cast<std::size_t>(operand)];
    return ElementText(program_, kernel_, writer_, operand, {index.begin(), index.end()},
                       {strides.begin(), strides.end()}, kernel_.operands[static_cast<std::size_t>(operand)].offset);
  }
  std::string Target(const Index& index) const {
    return fmt::format("{}[{}]", writer_.TargetName(),
                       Address({index.begin(), index.end()}, {conv_.target.begin(), conv_.target.end()}, 0));
  }
  std::string Epilogue(const Index& index, const std::string& it) {
    ExprWriter text(writer_,
                    [&](const ExprNode& load) { return load.buffer == kItOperand ? it : Element(load.buffer, index); });
    return text.Text(kernel_.epilogue);
  }
  static std::string Scaled(const std::string& text, std::int64_t by) {
    if (by == 1 || text == "0") return text;
    const bool sum = text.find_first_of("+-") != std::string::npos;
    return fmt::format("{} * {}", sum ? "(" + text + ")" : text, by);
  }
  static std::string Plus(const std::string& text, std::int64_t offset) {
    if (offset == 0) return text;
    if (text == "0") return fmt::format("{}", offset);
    return offset > 0 ? fmt::format("{} + {}", text, offset) : fmt::format("{} - {}", text, -offset);
  }
  static std::string Sum(const std::string& a, const std::string& b) {
    return a == "0" ? b : b == "0" ? a : fmt::format("{} + {}", a, b);
  }
  // The output's place of position `m` of the current phase.
  std::string Out(int d, const std::string& m) const {
    const Phase& phase = phase_[static_cast<std::size_t>(d)];
    return Plus(Scaled(m, phase.out_step), phase.out_start);
  }
  std::string Group(const std::string& channel, std::int64_t extent) const {
    return conv_.groups == 1 ? channel : Sum(extent == 1 ? "group" : fmt::format("group * {}", extent), channel);
  }
  // Opens "for (long var ...)"; for an extent of 1 the variable stands for 0.
  std::string Open(const std::string& var, std::int64_t extent) {
    if (extent == 1) return "0";
    writer_.Open(For(var, extent));
    ++open_;
    return var;
  }
  void CloseAll() {
    for (; open_ > 0; --open_) writer_.Close();
  }

  std::string Vector() {
    const std::string& real = writer_.real();
    const std::int64_t element = writer_.wide() ? 8 : 4;
    if (VectorWidth() * element % 64 == 0) {
      writer_.Helper("Vector_" + real);
      return writer_.wide() ? "DoubleVector" : "FloatVector";
    }
    const std::string name = "Vector_" + name_;
    writer_.Line(
        fmt::format("typedef {} {} __attribute__((vector_size(32), aligned({}), may_alias));", real, name, element));
    return name;
  }

  // No tap reaches these outputs, or there are no channels: the sum is 0.
  void EmitNothing() { EmitEpilogue(false); }

  // The chain over all outputs of the phase, of `it` or of what stands in the target.
  void EmitEpilogue(bool of_target) {
    writer_.ParallelFor(2);
    writer_.Open(For("image", conv_.batch));
    writer_.Open(For("channel", conv_.groups * conv_.made));
    Index at = Zeros();
    at[Conv::kN] = "image";
    at[Conv::kO] = "channel";
    for (int d = 0; d < 3; ++d) {
      const std::string var = fmt::format("o{}", "zyx"[d]);
      const std::int64_t extent = phase_[static_cast<std::size_t>(d)].positions;
      writer_.Open(For(var, extent));
      at[static_cast<std::size_t>(Conv::kZ + d)] = Out(d, var);
    }
    const std::string value = Epilogue(at, of_target ? Target(at) : writer_.Number(0));
    writer_.Line(fmt::format("{} = {};", Target(at), value));
    for (int i = 0; i < 5; ++i) writer_.Close();
  }

  void Lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      writer_.Line(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
  }

  // oneDNN, if it is found when the module runs. Its header may be absent and no module is linked with it, so that what
  // is called is declared here, as version 2 has it. What follows computes the kernel where the library is not there.
  void EmitLibrary() {
    if (!LibraryTakes(kernel_) || writer_.wide()) return;
    const int x = kernel_.operands[static_cast<std::size_t>(kernel_.inputs[0]->buffer)].buffer,
              w = kernel_.operands[static_cast<std::size_t>(kernel_.inputs[1]->buffer)].buffer;
    for (const int buffer : {x, w}) {
      if (program_.buffers[static_cast<std::size_t>(buffer)].dtype != DType::kF32) return;
    }
    const std::string& target = writer_.TargetName();
    std::vector<std::int64_t> in = {conv_.batch, conv_.groups * conv_.channels},
                              out = {conv_.batch, conv_.groups * conv_.made}, weights = {conv_.made, conv_.channels},
                              stride, gap, before, behind;
    if (conv_.groups > 1) weights.insert(weights.begin(), conv_.groups);
    const std::size_t spatial = (kernel_.space.size() - 5) / 3;
    for (std::size_t d = 3 - spatial; d < 3; ++d) {
      const WindowDim& dim = conv_.dims[d];
      in.push_back(dim.in);
      out.push_back(dim.out);
      weights.push_back(dim.window);
      stride.push_back(dim.stride);
      gap.push_back(dim.dilation - 1);
      before.push_back(dim.padding);
      behind.push_back((dim.out - 1) * dim.stride + (dim.window - 1) * dim.dilation + 1 - dim.in - dim.padding);
    }
    writer_.BeginFunction();
    const auto list = [&](const char* name, const std::vector<std::int64_t>& values) {
      writer_.Line(fmt::format("long {}[12] = {{{}}};", name, fmt::join(values, ", ")));
    };
    writer_.Line("}  // namespace");
    writer_.Blank();
    writer_.Line("#include <dlfcn.h>");
    writer_.Line("#include <omp.h>");
    writer_.Blank();
    writer_.Line("namespace {");
    writer_.Blank();
    writer_.Comment(
        "The convolution by oneDNN 2, in the layout that it likes best. Its objects live as long as the module.");
    writer_.Open(fmt::format("struct Library_{}", target));
    Lines(R"(struct Description {
  alignas(64) char bytes[8192];  // larger than any of its plain structures
};
struct Argument {
  int index;
  void* memory;
};
bool tried = false, ready = false, failed = false;
void *stream = nullptr, *convolution = nullptr, *pack = nullptr, *enter = nullptr, *leave = nullptr;
void *x_plain = nullptr, *x_own = nullptr, *w_plain = nullptr, *w_own = nullptr, *y_plain = nullptr, *y_own = nullptr;
int (*execute)(void*, void*, int, const Argument*) = nullptr;
int (*wait)(void*) = nullptr;
int (*set_handle)(void*, void*) = nullptr;

template <class F>
F Find(void* library, F, const char* name) {
  void* function = dlsym(library, name);
  if (!function) failed = true;
  return reinterpret_cast<F>(function);
}
void Try(int status) { failed |= status != 0; }
bool Open() {
  tried = true;
  void* library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  using Anything = void*;
  const auto engine_create = Find(library, (int (*)(void**, int, unsigned long)) nullptr, "dnnl_engine_create");
  const auto stream_create = Find(library, (int (*)(void**, void*, unsigned)) nullptr, "dnnl_stream_create");
  const auto strided = Find(library, (int (*)(void*, int, const long*, int, const long*)) nullptr,
                            "dnnl_memory_desc_init_by_strides");
  const auto tagged =
      Find(library, (int (*)(void*, int, const long*, int, int)) nullptr, "dnnl_memory_desc_init_by_tag");
  const auto describe = Find(library,
                             (int (*)(void*, int, int, const void*, const void*, const void*, const void*, const long*,
                                      const long*, const long*, const long*)) nullptr,
                             "dnnl_dilated_convolution_forward_desc_init");
  const auto choose = Find(library, (int (*)(void**, const void*, const void*, void*, const void*)) nullptr,
                           "dnnl_primitive_desc_create");
  const auto chosen =
      Find(library, (const void* (*)(const void*, int, int)) nullptr, "dnnl_primitive_desc_query_md");
  const auto create = Find(library, (int (*)(void**, const void*)) nullptr, "dnnl_primitive_create");
  const auto memory = Find(library, (int (*)(void**, const void*, void*, void*)) nullptr, "dnnl_memory_create");
  const auto reorder = Find(library, (int (*)(void**, const void*, void*, const void*, void*, const void*)) nullptr,
                            "dnnl_reorder_primitive_desc_create");
  const auto equal = Find(library, (int (*)(const void*, const void*)) nullptr, "dnnl_memory_desc_equal");
  execute = Find(library, execute, "dnnl_primitive_execute");
  wait = Find(library, wait, "dnnl_stream_wait");
  set_handle = Find(library, set_handle, "dnnl_memory_set_data_handle");
  if (failed) return false;
)");
    writer_.Indent();
    list("in", in);
    list("out", out);
    list("window", weights);
    const auto dense = [](const std::vector<std::int64_t>& extents) {
      std::vector<std::int64_t> steps(extents.size(), 1);
      for (std::size_t d = extents.size() - 1; d-- > 0;) steps[d] = steps[d + 1] * extents[d + 1];
      return steps;
    };
    list("in_steps", dense(in));
    list("out_steps", dense(out));
    list("window_steps", dense(weights));
    list("stride", stride);
    list("gap", gap);
    list("before", before);
    list("behind", behind);
    // 3: f32; 1: any layout; 96, 1: forward inference, direct; 129, 131, 133: source, weights, destination.
    const bool plain = conv_.Taps() == 1;
    writer_.Line("constexpr int kFloat = 3, kAny = 1, kInference = 96, kDirect = 1, kSource = 129, kWeights = 131;");
    writer_.Line("constexpr int kDestination = 133;");
    writer_.Line("Description x_given, y_given, w_given, x_wanted, y_wanted, w_wanted, wanted;");
    writer_.Line("Anything engine = nullptr, choice = nullptr, order = nullptr;");
    writer_.Line("Try(engine_create(&engine, 1, 0));");
    writer_.Line("if (failed) return false;");
    writer_.Line("Try(stream_create(&stream, engine, 1));");
    writer_.Line(fmt::format("Try(strided(&x_given, {}, in, kFloat, in_steps));", in.size()));
    writer_.Line(fmt::format("Try(strided(&y_given, {}, out, kFloat, out_steps));", out.size()));
    writer_.Line(fmt::format("Try(strided(&w_given, {}, window, kFloat, window_steps));", weights.size()));
    if (plain) {
      writer_.Line("x_wanted = x_given;");
      writer_.Line("y_wanted = y_given;");
    } else {
      writer_.Line(fmt::format("Try(tagged(&x_wanted, {}, in, kFloat, kAny));", in.size()));
      writer_.Line(fmt::format("Try(tagged(&y_wanted, {}, out, kFloat, kAny));", out.size()));
    }
    writer_.Line(fmt::format("Try(tagged(&w_wanted, {}, window, kFloat, kAny));", weights.size()));
    Lines(
        R"(Try(describe(&wanted, kInference, kDirect, &x_wanted, &w_wanted, nullptr, &y_wanted, stride, gap, before, behind));
if (failed) return false;
Try(choose(&choice, &wanted, nullptr, engine, nullptr));
if (failed) return false;
const void *x_chosen = chosen(choice, kSource, 0), *w_chosen = chosen(choice, kWeights, 0),
           *y_chosen = chosen(choice, kDestination, 0);
Anything const allocated = reinterpret_cast<void*>(~0ul);
Try(create(&convolution, choice));
Try(memory(&x_plain, &x_given, engine, nullptr));
Try(memory(&y_plain, &y_given, engine, nullptr));
Try(memory(&w_plain, &w_given, engine, nullptr));
Try(memory(&w_own, w_chosen, engine, allocated));
Try(reorder(&order, &w_given, engine, w_chosen, engine, nullptr));
if (failed) return false;
Try(create(&pack, order));
x_own = x_plain;
if (!equal(&x_given, x_chosen)) {
  Try(memory(&x_own, x_chosen, engine, allocated));
  Try(reorder(&order, &x_given, engine, x_chosen, engine, nullptr));
  if (!failed) Try(create(&enter, order));
}
y_own = y_plain;
if (!equal(&y_given, y_chosen)) {
  Try(memory(&y_own, y_chosen, engine, allocated));
  Try(reorder(&order, y_chosen, engine, &y_given, engine, nullptr));
  if (!failed) Try(create(&leave, order));
}
ready = !failed;
return ready;
)");
    writer_.Close();
    Lines(R"(void Call(void* primitive, Argument from, Argument to, Argument weights = {}) {
  const Argument arguments[] = {from, to, weights};
  Try(execute(primitive, stream, weights.memory ? 3 : 2, arguments));
}
// The weights in the library's order; whether there is a library.
bool Pack(const float* weights, int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  if (!tried) Open();
  if (ready) {
    Try(set_handle(w_plain, const_cast<float*>(weights)));
    Call(pack, {1, w_plain}, {17, w_own});
    Try(wait(stream));
  }
  omp_set_num_threads(before);
  return ready && !failed;
}
bool Run(const float* from, float* to, int threads) {
  if (!ready || failed) return false;
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  Try(set_handle(x_plain, const_cast<float*>(from)));
  Try(set_handle(y_plain, to));
  if (enter) Call(enter, {1, x_plain}, {17, x_own});
  Call(convolution, {1, x_own}, {17, y_own}, {33, w_own});
  if (leave) Call(leave, {1, y_own}, {17, y_plain});
  Try(wait(stream));
  omp_set_num_threads(before);
  return !failed;
}
)");
    writer_.Close(";");
    writer_.Line(fmt::format("Library_{} library_{};", target, target));
    writer_.Blank();
    writer_.Open(fmt::format("void PackLibrary_{}(const float* weights, int threads)", target));
    writer_.Line(fmt::format("library_{}.Pack(weights, threads);", target));
    writer_.Close();
    writer_.EndFunction();
    const std::string threads = writer_.parallel() ? writer_.ThreadsText() : "1";
    if (WordSetting(kernel_, "prepack") == "auto" &&
        program_.buffers[static_cast<std::size_t>(w)].home == KernelBuffer::Home::kParameter) {
      writer_.Prepare({.function = "PackLibrary_" + target, .buffers = {w}, .scratch = {}});
    } else {
      writer_.Line(fmt::format("PackLibrary_{}({}, {});", target, writer_.BufferName(w), threads));
    }
    writer_.Open(fmt::format("if (library_{}.Run({}, {}, {}))", target, writer_.BufferName(x), target, threads));
    if (kernel_.epilogue->kind != Expr::Kind::kLoad || kernel_.epilogue->buffer != kItOperand) {
      for (std::size_t d = 0; d < 3; ++d) phase_[d] = conv_.phases[d][0];
      EmitEpilogue(true);
    }
    writer_.Line("return;");
    writer_.Close();
  }

  // Writes PackW_y: the weights as panels of `mr` output channels, [group][panel][channel][tap][mr], with zeros beyond
  // the last channel.
  void PackWeights() {
    const Expr& w = kernel_.inputs[1];
    const std::vector<int> buffers = BuffersOf(kernel_, w);
    weights_ = writer_.Scratch(name_ == writer_.TargetName() ? "weights" : "weights" + name_.substr(name_.rfind('_')),
                               writer_.real(), conv_.groups * panels_ * conv_.channels * taps_ * mr_);
    std::string parameters;
    for (const int buffer : buffers) {
      parameters +=
          fmt::format("const {}* __restrict {}, ", CppName(program_.buffers[static_cast<std::size_t>(buffer)].dtype),
                      writer_.BufferName(buffer));
    }
    writer_.BeginFunction();
    writer_.Comment(fmt::format(
        "The weights as panels of {} output channels in the order in which they are read, with zeros beyond the last.",
        mr_));
    writer_.Open(fmt::format("void PackW_{}({}{}* __restrict packed, [[maybe_unused]] int threads)", name_, parameters,
                             writer_.real()));
    writer_.ParallelFor((conv_.groups > 1) + (panels_ > 1));
    const std::string g = Open("group", conv_.groups), panel = Open("panel", panels_),
                      c = Open("channel", conv_.channels);
    Index at = Zeros();
    std::string tap = "0";
    for (std::size_t d = 0; d < 3; ++d) {
      const std::string var = Open(fmt::format("t{}", "zyx"[d]), phase_[d].taps);
      at[Conv::kTapZ + d] = Plus(Scaled(var, phase_[d].every), phase_[d].first);
      tap = Sum(Scaled(tap, phase_[d].taps), var);
    }
    const std::string r = Open("r", mr_);
    const std::string o = Sum(Scaled(panel, mr_), r);
    const bool edge = conv_.made % mr_ != 0;
    if (edge) writer_.Open(fmt::format("if ({} < {})", o, conv_.made));
    at[Conv::kC] = c;
    at[Conv::kMade] = o;
    at[Conv::kIn] = Group(c, conv_.channels);
    at[Conv::kO] = Group(o, conv_.made);
    const std::string to = fmt::format(
        "packed[{}]",
        Address({g, panel, c, tap, r},
                {panels_ * conv_.channels * taps_ * mr_, conv_.channels * taps_ * mr_, taps_ * mr_, mr_, 1}, 0));
    ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer, at); });
    const std::string value = text.Text(w);
    writer_.Line(fmt::format("{} = {};", to, value));
    if (edge) {
      writer_.Close(" else {");
      writer_.Indent();
      writer_.Line(fmt::format("{} = 0;", to));
      writer_.Close();
    }
    CloseAll();
    writer_.Close();
    writer_.EndFunction();

    bool prepared = WordSetting(kernel_, "prepack") == "auto" && !buffers.empty();
    for (const int buffer : buffers)
      prepared &= program_.buffers[static_cast<std::size_t>(buffer)].home == KernelBuffer::Home::kParameter;
    if (prepared) {
      writer_.Prepare({.function = "PackW_" + name_, .buffers = buffers, .scratch = {weights_}});
    } else {
      std::string arguments;
      for (const int buffer : buffers) arguments += writer_.BufferName(buffer) + ", ";
      writer_.Line(
          fmt::format("PackW_{}({}{}, {});", name_, arguments, weights_, writer_.parallel() ? "threads" : "1"));
    }
  }
  // Where a panel's weights from channel c0 on stand. `i` is a multiple of mr.
  std::string Weights() const {
    return weights_ + " + " +
           Address({conv_.groups == 1 ? "0" : "group", "o0 + i", tile_channels_ < conv_.channels ? "c0" : "0"},
                   {panels_ * conv_.channels * taps_ * mr_, conv_.channels * taps_, taps_ * mr_}, 0);
  }

  // Writes Multiply_y: the sums over `depth` channels and all taps, for a panel of output channels and nr pixels.
  // `places`: where a tap's pixels stand in a channel's block, `step` elements from channel to channel.
  void WriteMultiply(const std::vector<std::int64_t>& places, std::int64_t step) {
    const std::string& real = writer_.real();
    writer_.BeginFunction();
    const std::string vector = Vector();
    writer_.Comment(fmt::format("tile = the sums over `depth` {} of {} output channels x {} pixels, in registers.",
                                places.empty() ? "products" : "channels and the window's taps", mr_, nr_));
    writer_.Open(fmt::format(
        "inline void Multiply_{}(long depth, const {}* __restrict w, const {}* __restrict x, {}* __restrict "
        "tile)",
        name_, real, real, real));
    writer_.Line(fmt::format("constexpr int kLanes = sizeof({}) / sizeof({}), kVectors = {} / kLanes;", vector, real,
                             VectorWidth()));
    const bool table = places.size() > 1;
    if (table) {
      writer_.Comment("Where the taps' pixels stand.");
      writer_.Line(fmt::format("static constexpr int kPlaces[{}] = {{{}}};", places.size(), fmt::join(places, ", ")));
    }
    // A long sum is made of the sums of equal chunks, so that fewer roundings pile up.
    const std::int64_t products = places.empty() ? 1 : static_cast<std::int64_t>(places.size());
    const std::int64_t most = tile_channels_ * taps_ / products;
    const std::int64_t chunks = (most * products + kChunk - 1) / kChunk;
    const std::int64_t chunk = (most + chunks - 1) / chunks;
    const bool chunked = chunk < most;
    if (chunked) {
      writer_.Open(fmt::format("for (long k0 = 0; k0 < depth; k0 += {})", chunk));
      writer_.Line(fmt::format("const long k_end = k0 + {} < depth ? k0 + {} : depth;", chunk, chunk));
    }
    const std::int64_t rows = channels_along_ ? nr_ : mr_;
    writer_.Line(fmt::format("{} sum[{}][kVectors] = {{}};", vector, rows));
    writer_.Open(fmt::format("for (long k = {}; k < {}; ++k, x += {})", chunked ? "k0" : "0",
                             chunked ? "k_end" : "depth", places.empty() ? nr_ : step));
    if (table) writer_.Open(fmt::format("for (int t = 0; t < {}; ++t, w += {})", places.size(), mr_));
    writer_.Line(fmt::format("{} row[kVectors];", vector));
    writer_.Line("#pragma GCC unroll 16");
    const std::string place = table                             ? "kPlaces[t] + "
                              : places.size() == 1 && places[0] ? fmt::format("{} + ", places[0])
                                                                : "";
    // One side is read as vectors, of the other an element meets them all.
    writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const {}*>({}v * kLanes);",
                             vector, channels_along_ ? "w + " : "x + " + place));
    writer_.Line("#pragma GCC unroll 32");
    writer_.Open(fmt::format("for (int r = 0; r < {}; ++r)", rows));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) sum[r][v] += {} * row[v];",
                             channels_along_ ? fmt::format("x[{}r]", place) : "w[r]"));
    writer_.Close();
    if (table) {
      writer_.Close();
    } else {
      writer_.Line(fmt::format("w += {};", mr_));
    }
    writer_.Close();
    const auto keep = [&](std::string_view how) {
      writer_.Line("#pragma GCC unroll 32");
      writer_.Open(fmt::format("for (int r = 0; r < {}; ++r)", rows));
      writer_.Line("#pragma GCC unroll 16");
      writer_.Line(
          fmt::format("for (int v = 0; v < kVectors; ++v) *reinterpret_cast<{}*>(tile + r * {} + v * kLanes) {} "
                      "sum[r][v];",
                      vector, VectorWidth(), how));
      writer_.Close();
    };
    if (chunked) {
      writer_.Open("if (k0 == 0)");
      keep("=");
      writer_.Close(" else {");
      writer_.Indent();
      keep("+=");
      writer_.Close();
      writer_.Close();
    } else {
      keep("=");
    }
    writer_.Close();
    writer_.EndFunction();
  }

  // `rows` and the like: a constant, or less at the end.
  void Least(const std::string& name, std::int64_t whole, const std::string& from, std::int64_t most) {
    writer_.Line(whole % most == 0 ? fmt::format("constexpr long {} = {};", name, most)
                                   : fmt::format("const long {} = {} - {} < {} ? {} - {} : {};", name, whole, from,
                                                 most, whole, from, most));
  }
  void OpenTasks(const std::string& var, std::int64_t extent, std::int64_t step) {
    if (step >= extent) {
      writer_.Line(fmt::format("constexpr long {} = 0;", var));
      return;
    }
    writer_.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", var, var, extent, var, step));
    ++open_;
  }

  // Channel r, pixel l of the tile.
  std::string TileElement() const {
    return channels_along_ ? fmt::format("tile[l * {} + r]", mr_) : fmt::format("tile[r * {} + l]", nr_);
  }
  std::int64_t VectorWidth() const { return channels_along_ ? mr_ : nr_; }

  // Stores `count` columns from `tile` column `from` on; `place(r, q)` is where row r's column q belongs.
  void StoreColumns(const std::string& from, const std::string& to,
                    const std::function<Index(const std::string& row, const std::string& column)>& place) {
    const bool parts = tile_channels_ < conv_.channels;  // the sums over parts of the channels meet in the target
    const std::string sum = TileElement();
    const Index at = place("r", "l");
    const auto loops = [&](const std::function<void()>& body) {
      writer_.Open("for (long r = 0; r < tile_rows; ++r)");
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long l = {}; l < {}; ++l)", from, to));
      body();
      writer_.Close();
      writer_.Close();
    };
    const auto finish = [&](const std::string& it) {
      loops([&] {
        writer_.Line(fmt::format("const {} total = {};", writer_.real(), it));
        const std::string value = Epilogue(at, "total");
        writer_.Line(fmt::format("{} = {};", Target(at), value));
      });
    };
    if (!parts) return finish(sum);
    writer_.Open("if (c0 == 0)");
    loops([&] { writer_.Line(fmt::format("{} = {};", Target(at), sum)); });
    writer_.Close(fmt::format(" else if (c0 + {} < {}) {{", tile_channels_, conv_.channels));
    writer_.Indent();
    loops([&] { writer_.Line(fmt::format("{} += {};", Target(at), sum)); });
    writer_.Close(" else {");
    writer_.Indent();
    finish(fmt::format("{} + {}", Target(at), sum));
    writer_.Close();
  }
  void TileRows() {
    if (conv_.made % mr_ == 0) {
      writer_.Line(fmt::format("constexpr long tile_rows = {};", mr_));
    } else {
      writer_.Line(
          fmt::format("const long tile_rows = {} - o0 - i < {} ? {} - o0 - i : {};", conv_.made, mr_, conv_.made, mr_));
    }
  }

  // --- direct.

  void EmitDirect() {
    const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
    const DirectBlock block(phase_, tile_pixels_);
    const std::string& real = writer_.real();
    // Taps in the order of the weights.
    std::vector<std::int64_t> places;
    const auto relative = [](const Phase& phase, std::int64_t t) {
      return phase.offset + t * phase.offset_step - phase.Low();
    };
    for (std::int64_t tz = 0; tz < pz.taps; ++tz) {
      for (std::int64_t ty = 0; ty < py.taps; ++ty) {
        for (std::int64_t tx = 0; tx < px.taps; ++tx) {
          const std::int64_t y = relative(py, ty), x = relative(px, tx);
          places.push_back(tz * block.plane + (y % py.in_step * block.phases_x + x % px.in_step) * block.part +
                           y / py.in_step * block.pitch + x / px.in_step);
        }
      }
    }
    WriteMultiply(places, block.cube);

    writer_.Comment(fmt::format("Blocks of {} x {} outputs of an image, whoever is free.", block.rows, block.columns));
    const int loops = (conv_.batch > 1) + (conv_.groups > 1) + (pz.positions > 1) + (block.rows < py.positions) +
                      (block.columns < px.positions) + (tile_made_ < conv_.made);
    if (loops > 0) writer_.ParallelFor(loops, "dynamic");
    const std::string n = Open("image", conv_.batch), g = Open("group", conv_.groups), z = Open("oz", pz.positions);
    // The loops that collapse come first, then the lines between them.
    std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> tasks = {
        {"y0", {py.positions, block.rows}}, {"x0", {px.positions, block.columns}}, {"o0", {conv_.made, tile_made_}}};
    std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
      return (a.second.second < a.second.first) > (b.second.second < b.second.first);
    });
    if (loops == 0) writer_.Open("");
    for (const auto& [var, extent] : tasks) OpenTasks(var, extent.first, extent.second);
    Least("rows", py.positions, "y0", block.rows);
    Least("columns", px.positions, "x0", block.columns);
    if (tile_made_ < conv_.made) Least("outputs", conv_.made, "o0", tile_made_);
    const std::string outputs = tile_made_ < conv_.made ? "outputs" : fmt::format("{}", conv_.made);
    const std::int64_t count = block.Count(tile_channels_, nr_);
    writer_.Line(fmt::format("alignas(64) {} block[{}];", real, count));
    writer_.Comment("What the last vectors read beyond the block is never stored.");
    writer_.Line(fmt::format("__builtin_memset(block + {}, 0, {} * sizeof({}));", tile_channels_ * block.cube,
                             count - tile_channels_ * block.cube, real));
    const bool parts = tile_channels_ < conv_.channels;
    if (parts) {
      writer_.Open(fmt::format("for (long c0 = 0; c0 < {}; c0 += {})", conv_.channels, tile_channels_));
      Least("depth", conv_.channels, "c0", tile_channels_);
    }
    const std::string depth = parts ? "depth" : fmt::format("{}", conv_.channels);

    writer_.Comment("The inputs that the block needs, with zeros outside of the image.");
    int copies = 0;
    const auto loop = [&](const std::string& var, const std::string& extent) {
      if (extent == "1") return std::string("0");
      writer_.Open(fmt::format("for (long {} = 0; {} < {}; ++{})", var, var, extent, var));
      ++copies;
      return var;
    };
    const std::string c = loop("channel", depth), tz = loop("tz", fmt::format("{}", pz.taps)),
                      fy = loop("fy", fmt::format("{}", block.phases_y)),
                      fx = loop("fx", fmt::format("{}", block.phases_x)),
                      line = loop("line", block.lines == 1 ? "1" : Plus("rows", block.lines - block.rows));
    writer_.Line(
        fmt::format("{}* to = block + {};", real,
                    Address({c, tz, fy, fx, line},
                            {block.cube, block.plane, block.phases_x * block.part, block.part, block.pitch}, 0)));
    Index at = Zeros();
    at[Conv::kN] = n;
    at[Conv::kIn] = Group(parts ? Sum("c0", c) : c, conv_.channels);
    std::vector<std::string> inside;
    const auto place = [&](std::size_t d, const std::string& value) {
      if (phase_[d].in == 1 && !phase_[d].Leaves()) return;
      const std::string var = fmt::format("in_{}", "zyx"[d]);
      writer_.Line(fmt::format("const long {} = {};", var, value));
      at[Conv::kInZ + d] = var;
      // Of a stride's rows the last may stand below the image: no tap meets them.
      const bool spare = d == 1 && phase_[d].in_step > 1;
      if (phase_[d].Leaves() || spare) inside.push_back(fmt::format("{} >= 0 && {} < {}", var, var, phase_[d].in));
    };
    place(0, Plus(Sum(Scaled(z, pz.in_step), Scaled(tz, pz.offset_step)), pz.offset));
    place(1, Plus(Sum(Scaled(Sum("y0", line), py.in_step), fy), py.Low()));
    const std::string width = Plus("columns", block.pitch - block.columns);
    writer_.Line(fmt::format("const long in_x = {};", Plus(Sum(Scaled("x0", px.in_step), fx), px.Low())));
    const std::string up = px.in_step > 1 ? fmt::format(" + {}) / {}", px.in_step - 1, px.in_step) : ")";
    writer_.Line(fmt::format("const long room = in_x < {} ? ({} - in_x{} : 0;", px.in, px.in, up));
    writer_.Line(fmt::format("const long high = {}room < {} ? room : {};",
                             inside.empty() ? "" : fmt::format("!({}) ? 0 : ", fmt::join(inside, " && ")), width,
                             width));
    writer_.Line(fmt::format("const long start = in_x < 0 ? (-in_x{} : 0;", up));
    writer_.Line("const long low = start < high ? start : high;");
    at[Conv::kInX] = Sum("in_x", Scaled("ix", px.in_step));
    writer_.Line("for (long ix = 0; ix < low; ++ix) to[ix] = 0;");
    writer_.Line("#pragma omp simd");
    writer_.Open("for (long ix = low; ix < high; ++ix)");
    ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer, at); });
    const std::string value = text.Text(kernel_.inputs[0]);
    writer_.Line(fmt::format("to[ix] = {};", value));
    writer_.Close();
    writer_.Line(fmt::format("for (long ix = high; ix < {}; ++ix) to[ix] = 0;", width));
    for (; copies > 0; --copies) writer_.Close();

    writer_.Open(fmt::format("for (long i = 0; i < {}; i += {})", outputs, mr_));
    TileRows();
    // Outputs row after row as the copy's rows lie: what stands between them is computed and dropped.
    // Single pixels need not be neighbours: rows are then taken one by one and nothing is dropped.
    const bool by_row = channels_along_ && block.rows > 1;
    const bool one_row = block.rows == 1 || by_row;
    if (by_row) writer_.Open("for (long oy = 0; oy < rows; ++oy)");
    const std::string flat_count = one_row ? "columns" : fmt::format("(rows - 1) * {} + columns", block.pitch);
    writer_.Open(fmt::format("for (long at = 0; at < {}; at += {})", flat_count, nr_));
    writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
    writer_.Line(fmt::format("Multiply_{}({}, {}, block + {}at, tile);", name_, depth, Weights(),
                             by_row ? fmt::format("oy * {} + ", block.pitch) : ""));
    const auto spot = [&](const std::string& row, const std::string& y, const std::string& x) {
      Index index = Zeros();
      index[Conv::kN] = n;
      index[Conv::kO] = Group(fmt::format("o0 + i + {}", row), conv_.made);
      index[Conv::kZ] = Out(0, z);
      index[Conv::kY] = Out(1, y);
      index[Conv::kX] = Out(2, x);
      return index;
    };
    if (one_row) {
      writer_.Line(fmt::format("const long end = columns - at < {} ? columns - at : {};", nr_, nr_));
      StoreColumns("0", "end", [&](const std::string& r, const std::string& q) {
        return spot(r, by_row ? "y0 + oy" : "y0", "x0 + at + " + q);
      });
    } else {
      writer_.Open(fmt::format("for (long oy = at / {}, begin = 0; oy < rows && begin < {}; ++oy)", block.pitch, nr_));
      writer_.Comment("The part of row oy that is among these pixels.");
      writer_.Line(fmt::format("const long ox = at + begin - oy * {};", block.pitch));
      writer_.Line(fmt::format("const long end = begin + columns - ox < {} ? begin + columns - ox : {};", nr_, nr_));
      writer_.Line("const long shift = ox - begin;");
      StoreColumns("begin", "end",
                   [&](const std::string& r, const std::string& q) { return spot(r, "y0 + oy", "x0 + shift + " + q); });
      writer_.Line(fmt::format("begin = (oy + 1) * {} - at;", block.pitch));
      writer_.Close();
    }
    writer_.Close();
    if (by_row) writer_.Close();
    writer_.Close();
    if (parts) writer_.Close();
    if (loops == 0) writer_.Close();
    CloseAll();
  }

  // --- gemm.

  void EmitGemm() {
    const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
    const std::string& real = writer_.real();
    WriteMultiply({}, 0);
    const std::int64_t image = pz.positions * py.positions * px.positions, all = conv_.batch * image;
    const std::int64_t pixels = std::min(tile_pixels_, (all + nr_ - 1) / nr_ * nr_);
    writer_.Comment("Blocks of output channels and pixels of all images, whoever is free.");
    const int loops = (conv_.groups > 1) + (pixels < all) + (tile_made_ < conv_.made);
    if (loops > 0) writer_.ParallelFor(loops, "dynamic");
    Open("group", conv_.groups);
    if (loops == 0) writer_.Open("");
    const bool made_first = tile_made_ < conv_.made;
    if (made_first) OpenTasks("o0", conv_.made, tile_made_);
    OpenTasks("p0", all, pixels);
    if (!made_first) OpenTasks("o0", conv_.made, tile_made_);
    Least("columns", all, "p0", pixels);
    if (made_first) Least("outputs", conv_.made, "o0", tile_made_);
    const std::string outputs = made_first ? "outputs" : fmt::format("{}", conv_.made);
    writer_.Line(fmt::format("alignas(64) {} panels[{}];", real, pixels * tile_channels_ * taps_));
    const bool parts = tile_channels_ < conv_.channels;
    if (parts) {
      writer_.Open(fmt::format("for (long c0 = 0; c0 < {}; c0 += {})", conv_.channels, tile_channels_));
      Least("depth", conv_.channels, "c0", tile_channels_);
    }
    const std::string depth = parts ? "depth" : fmt::format("{}", conv_.channels);
    const std::string products = taps_ == 1 ? depth
                                 : parts    ? fmt::format("depth * {}", taps_)
                                            : fmt::format("{}", conv_.channels * taps_);
    PackPixels(depth, products, all, image);
    writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
    writer_.Line(fmt::format("const {}* panel = panels + j * {};", real, products));
    writer_.Open(fmt::format("for (long i = 0; i < {}; i += {})", outputs, mr_));
    TileRows();
    writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
    writer_.Line(fmt::format("Multiply_{}({}, {}, panel, tile);", name_, products, Weights()));
    writer_.Line(fmt::format("const long filled = columns - j < {} ? columns - j : {};", nr_, nr_));
    StorePixels(all);
    writer_.Close();
    writer_.Close();
    if (parts) writer_.Close();
    if (loops == 0) writer_.Close();
    CloseAll();
  }

  // The inputs under the windows of the block's pixels: panels of nr pixels, [panel][channel][tap][nr].
  void PackPixels(const std::string& depth, const std::string& products, std::int64_t all, std::int64_t image) {
    const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
    const std::string& real = writer_.real();
    const std::vector<int> operands = OperandsOf({kernel_.inputs[0]});
    // Places that 32 bits hold are gathered twice as fast.
    std::int64_t largest = 0;
    for (const int operand : operands) {
      const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
      largest = std::max(largest, ElementCount(program_.buffers[static_cast<std::size_t>(buffer)].shape));
    }
    const std::string whole = largest < (1L << 31) ? "int" : "long";
    writer_.Comment("The inputs under the windows, a column a pixel; columns beyond the last repeat it.");
    writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
    writer_.Line(fmt::format("{}* to = panels + j * {};", real, products));
    const bool leaves = pz.Leaves() || py.Leaves() || px.Leaves();
    const std::string vars = "zyx";
    std::vector<std::string> arrays;
    if (conv_.batch > 1) arrays.push_back("n");
    for (std::size_t d = 0; d < 3; ++d) {
      if (phase_[d].positions > 1) arrays.push_back(vars.substr(d, 1));
    }
    std::string declared;
    for (const auto& array : arrays) declared += fmt::format("{}{}_at[{}]", declared.empty() ? "" : ", ", array, nr_);
    if (!arrays.empty()) {
      writer_.Line(fmt::format("{} {};", whole, declared));
      writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
      writer_.Line(
          fmt::format("const {} at = static_cast<{}>(p0 + j + l < {} ? p0 + j + l : {});", whole, whole, all, all - 1));
      std::int64_t below = image;
      for (const auto& array : arrays) {
        std::string text = "at";
        if (array == "n") {
          text = image == 1 ? "at" : fmt::format("at / {}", image);
        } else {
          const std::size_t d = vars.find(array[0]);
          below = 1;
          for (std::size_t inner = d + 1; inner < 3; ++inner) below *= phase_[inner].positions;
          if (below > 1) text = fmt::format("at / {}", below);
          if (array != arrays.front()) text = fmt::format("{} % {}", text, phase_[d].positions);
          text = Scaled(text, phase_[d].in_step);
        }
        writer_.Line(fmt::format("{}_at[l] = {};", array, text));
      }
      writer_.Close();
    }
    int nested = 0;
    std::string tap = "0";
    std::array<std::string, 3> tap_of;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t taps = phase_[d].taps;
      std::string var = "0";
      if (taps > 1) {
        var = fmt::format("t{}", vars[d]);
        writer_.Open(fmt::format("for ({} {} = 0; {} < {}; ++{})", whole, var, var, taps, var));
        ++nested;
      }
      tap_of[d] = Plus(Scaled(var, phase_[d].offset_step), phase_[d].offset);
      tap = Sum(Scaled(tap, taps), var);
    }
    // Where each operand's element stands, but for the channel.
    std::vector<std::string> names;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      names.push_back(
          fmt::format("from_{}", writer_.BufferName(kernel_.operands[static_cast<std::size_t>(operands[k])].buffer)));
      for (std::size_t other = 0; other < k; ++other) {
        if (names[other] == names[k]) names[k] += fmt::format("_{}", k);
      }
      writer_.Line(fmt::format("{} {}[{}];", whole, names[k], nr_));
    }
    if (leaves) writer_.Line(fmt::format("{} inside[{}];", whole, nr_));
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
    std::vector<std::string> conditions;
    Index at = Zeros();
    at[Conv::kN] = conv_.batch > 1 ? "n_at[l]" : "0";
    for (std::size_t d = 0; d < 3; ++d) {
      const std::string place = Sum(phase_[d].positions > 1 ? fmt::format("{}_at[l]", vars[d]) : "0", tap_of[d]);
      if (conv_.dims[d].in == 1 && !phase_[d].Leaves()) continue;
      const std::string var = fmt::format("in_{}", vars[d]);
      writer_.Line(fmt::format("const {} {} = {};", whole, var, place));
      at[Conv::kInZ + d] = var;
      if (phase_[d].Leaves()) conditions.push_back(fmt::format("({} >= 0) & ({} < {})", var, var, phase_[d].in));
    }
    if (leaves) writer_.Line(fmt::format("inside[l] = {};", fmt::join(conditions, " & ")));
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto& strides = conv_.strides[static_cast<std::size_t>(operands[k])];
      Index mine = at;
      mine[Conv::kIn] = "0";
      const std::string address = Address({mine.begin(), mine.end()}, {strides.begin(), strides.end()}, 0);
      writer_.Line(leaves ? fmt::format("{}[l] = inside[l] ? {} : 0;", names[k], address)
                          : fmt::format("{}[l] = {};", names[k], address));
    }
    writer_.Close();
    // Neighbouring pixels whose inputs are neighbours too are copied, others gathered.
    std::vector<std::string> straight;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto& strides = conv_.strides[static_cast<std::size_t>(operands[k])];
      const std::int64_t step = strides[Conv::kInX] * px.in_step;
      straight.push_back(fmt::format("({}[l] == {}[0]{})", names[k], names[k],
                                     step == 0   ? ""
                                     : step == 1 ? " + l"
                                                 : fmt::format(" + l * {}", step)));
    }
    if (leaves) straight.push_back("(inside[l] != 0)");
    if (straight.empty()) straight.push_back("true");
    writer_.Line("bool straight = true;");
    writer_.Line(fmt::format("for (long l = 0; l < {}; ++l) straight &= {};", nr_, fmt::join(straight, " & ")));
    writer_.Open(fmt::format("for (long channel = 0; channel < {}; ++channel)", depth));
    writer_.Line(fmt::format("{}* row = to + {};", real, Address({"channel", tap}, {taps_ * nr_, nr_}, 0)));
    const std::string channel = Group(tile_channels_ < conv_.channels ? "c0 + channel" : "channel", conv_.channels);
    const auto element = [&](int operand, const std::string& index) {
      const auto& view = kernel_.operands[static_cast<std::size_t>(operand)];
      const DType dtype = program_.buffers[static_cast<std::size_t>(view.buffer)].dtype;
      const std::string base =
          Address({channel}, {conv_.strides[static_cast<std::size_t>(operand)][Conv::kIn]}, view.offset);
      const std::string text = base == "0" ? fmt::format("{}[{}]", writer_.BufferName(view.buffer), index)
                                           : fmt::format("({} + {})[{}]", writer_.BufferName(view.buffer), base, index);
      const std::string type = writer_.TypeName(ScalarOf(dtype));
      return type == CppName(dtype) ? text : fmt::format("static_cast<{}>({})", type, text);
    };
    const auto copy = [&](bool gathered) {
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
      ExprWriter text(writer_, [&](const ExprNode& load) {
        const auto k =
            static_cast<std::size_t>(std::find(operands.begin(), operands.end(), load.buffer) - operands.begin());
        const std::int64_t step = conv_.strides[static_cast<std::size_t>(load.buffer)][Conv::kInX] * px.in_step;
        if (gathered) return element(load.buffer, names[k] + "[l]");
        return element(load.buffer, step == 0   ? names[k] + "[0]"
                                    : step == 1 ? names[k] + "[0] + l"
                                                : fmt::format("{}[0] + l * {}", names[k], step));
      });
      const std::string value = text.Text(kernel_.inputs[0]);
      if (gathered && leaves) {
        writer_.Line(fmt::format("const {} value = {};", real, value));
        writer_.Line("row[l] = inside[l] ? value : 0;");
      } else {
        writer_.Line(fmt::format("row[l] = {};", value));
      }
      writer_.Close();
    };
    writer_.Open("if (straight)");
    copy(false);
    writer_.Close(" else {");
    writer_.Indent();
    copy(true);
    writer_.Close();
    writer_.Close();
    for (; nested > 0; --nested) writer_.Close();
    writer_.Close();
  }

  // From the tile to the target: pixels in runs along which everybody's elements are evenly apart.
  void StorePixels(std::int64_t all) {
    const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
    // n, z, y, x as the store's operands see the positions; neighbours merge where all continue.
    std::vector<std::vector<std::int64_t>> strides;  // an operand, then the target
    std::vector<std::int64_t> offsets;
    const std::vector<int> operands = OperandsOf({kernel_.epilogue});
    const auto add = [&](const std::array<std::int64_t, Conv::kDims>& of) {
      std::vector<std::int64_t> mine = {of[Conv::kN]};
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        mine.push_back(of[Conv::kZ + d] * phase_[d].out_step);
        offset += of[Conv::kZ + d] * phase_[d].out_start;
      }
      mine.push_back(of[Conv::kO]);
      strides.push_back(std::move(mine));
      offsets.push_back(offset);
    };
    for (const int operand : operands) add(conv_.strides[static_cast<std::size_t>(operand)]);
    add(conv_.target);
    std::vector<std::int64_t> extents = {conv_.batch, pz.positions, py.positions, px.positions};
    for (std::size_t d = extents.size() - 1; d-- > 0;) {
      bool merges = true;
      for (const auto& mine : strides) merges &= mine[d] == mine[d + 1] * extents[d + 1];
      if (extents[d + 1] != 1 && extents[d] != 1 && !merges) continue;
      const bool keep_outer = extents[d + 1] == 1;
      extents[d] *= extents[d + 1];
      for (auto& mine : strides) {
        if (!keep_outer) mine[d] = mine[d + 1];
        mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(d) + 1);
      }
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    const std::string o = Group("o0 + i + r", conv_.made);
    std::vector<std::string> index;
    std::string begin = "0", end = "filled";
    const bool runs = extents.size() > 1;
    if (runs) {
      const std::int64_t run = extents.back();
      writer_.Open("for (long begin = 0; begin < filled;)");
      writer_.Line("const long at = p0 + j + begin;");
      writer_.Line(fmt::format("const long shift = at % {} - begin;", run));
      writer_.Line(fmt::format("const long end = {} - shift < filled ? {} - shift : filled;", run, run));
      std::int64_t below = run;
      for (std::size_t d = extents.size() - 1; d-- > 0;) {
        index.insert(index.begin(),
                     d == 0 ? fmt::format("at / {}", below) : fmt::format("at / {} % {}", below, extents[d]));
        below *= extents[d];
      }
      for (std::size_t d = 0; d < index.size(); ++d) {
        writer_.Line(fmt::format("const long at_{} = {};", d, index[d]));
        index[d] = fmt::format("at_{}", d);
      }
      index.push_back("shift + l");
      begin = "begin";
      end = "end";
    } else {
      index.push_back("p0 + j + l");
    }
    HONE_CHECK(all > 0, "pixels of nothing");
    index.push_back(o);

    const std::string to = fmt::format("{}[{}]", writer_.TargetName(), Address(index, strides.back(), offsets.back()));
    const bool parts = tile_channels_ < conv_.channels;
    const std::string sum = TileElement();
    const auto loops = [&](const std::function<void()>& body) {
      writer_.Open("for (long r = 0; r < tile_rows; ++r)");
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long l = {}; l < {}; ++l)", begin, end));
      body();
      writer_.Close();
      writer_.Close();
    };
    const auto finish = [&](const std::string& it) {
      loops([&] {
        writer_.Line(fmt::format("const {} total = {};", writer_.real(), it));
        ExprWriter text(writer_, [&](const ExprNode& load) -> std::string {
          if (load.buffer == kItOperand) return "total";
          const auto k =
              static_cast<std::size_t>(std::find(operands.begin(), operands.end(), load.buffer) - operands.begin());
          return ElementText(program_, kernel_, writer_, load.buffer, index, strides[k],
                             offsets[k] + kernel_.operands[static_cast<std::size_t>(load.buffer)].offset);
        });
        const std::string value = text.Text(kernel_.epilogue);
        writer_.Line(fmt::format("{} = {};", to, value));
      });
    };
    if (!parts) {
      finish(sum);
    } else {
      writer_.Open("if (c0 == 0)");
      loops([&] { writer_.Line(fmt::format("{} = {};", to, sum)); });
      writer_.Close(fmt::format(" else if (c0 + {} < {}) {{", tile_channels_, conv_.channels));
      writer_.Indent();
      loops([&] { writer_.Line(fmt::format("{} += {};", to, sum)); });
      writer_.Close(" else {");
      writer_.Indent();
      finish(fmt::format("{} + {}", to, sum));
      writer_.Close();
    }
    if (runs) {
      writer_.Line("begin = end;");
      writer_.Close();
    }
  }

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
  int open_ = 0;
};

}  // namespace

void EmitConvolution(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  ConvEmitter(program, kernel, writer).Emit();
}

}  // namespace hone::dsl
