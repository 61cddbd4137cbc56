#include "dsl/cpu/convolution_library.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace hone::dsl {
namespace {

// The object's types and members, and how its Open begins: what is called is declared here, as version 2 has it.
constexpr std::string_view kBeginning = R"(struct Description {
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
)";

// How Open ends, once it is described what is given and what is wanted: the library's choice, its memory, its reorders.
constexpr std::string_view kChosen =
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
)";

// What the object has beside Open.
constexpr std::string_view kCalls = R"(void Call(void* primitive, Argument from, Argument to, Argument weights = {}) {
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
)";

void Lines(Writer& writer, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    writer.Line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

// The object Library_y, library_y, and PackLibrary_y, which gives it the weights.
void WriteLibrary(const Kernel& kernel, const Convolution& conv, Writer& writer) {
  const std::string& target = writer.TargetName();
  std::vector<std::int64_t> in = {conv.batch, conv.groups * conv.channels}, out = {conv.batch, conv.groups * conv.made},
                            weights = {conv.made, conv.channels}, stride, gap, before, behind;
  if (conv.groups > 1) weights.insert(weights.begin(), conv.groups);
  for (std::size_t d = 3 - SpatialOf(kernel); d < 3; ++d) {
    const WindowDim& dim = conv.dims[d];
    in.push_back(dim.in);
    out.push_back(dim.out);
    weights.push_back(dim.window);
    stride.push_back(dim.stride);
    gap.push_back(dim.dilation - 1);
    before.push_back(dim.padding);
    behind.push_back((dim.out - 1) * dim.stride + (dim.window - 1) * dim.dilation + 1 - dim.in - dim.padding);
  }
  writer.BeginFunction();
  const auto list = [&](const char* name, const std::vector<std::int64_t>& values) {
    writer.Line(fmt::format("long {}[12] = {{{}}};", name, fmt::join(values, ", ")));
  };
  writer.Line("}  // namespace");
  writer.Blank();
  writer.Line("#include <dlfcn.h>");
  writer.Line("#include <omp.h>");
  writer.Blank();
  writer.Line("namespace {");
  writer.Blank();
  writer.Comment(
      "The convolution by oneDNN 2, in the layout that it likes best. Its objects live as long as the module.");
  writer.Open(fmt::format("struct Library_{}", target));
  Lines(writer, kBeginning);
  writer.Indent();
  list("in", in);
  list("out", out);
  list("window", weights);
  list("in_steps", DenseStrides(in));
  list("out_steps", DenseStrides(out));
  list("window_steps", DenseStrides(weights));
  list("stride", stride);
  list("gap", gap);
  list("before", before);
  list("behind", behind);
  // 3: f32; 1: any layout; 96, 1: forward inference, direct; 129, 131, 133: source, weights, destination.
  const bool plain = conv.Taps() == 1;
  writer.Line("constexpr int kFloat = 3, kAny = 1, kInference = 96, kDirect = 1, kSource = 129, kWeights = 131;");
  writer.Line("constexpr int kDestination = 133;");
  writer.Line("Description x_given, y_given, w_given, x_wanted, y_wanted, w_wanted, wanted;");
  writer.Line("Anything engine = nullptr, choice = nullptr, order = nullptr;");
  writer.Line("Try(engine_create(&engine, 1, 0));");
  writer.Line("if (failed) return false;");
  writer.Line("Try(stream_create(&stream, engine, 1));");
  writer.Line(fmt::format("Try(strided(&x_given, {}, in, kFloat, in_steps));", in.size()));
  writer.Line(fmt::format("Try(strided(&y_given, {}, out, kFloat, out_steps));", out.size()));
  writer.Line(fmt::format("Try(strided(&w_given, {}, window, kFloat, window_steps));", weights.size()));
  if (plain) {
    writer.Line("x_wanted = x_given;");
    writer.Line("y_wanted = y_given;");
  } else {
    writer.Line(fmt::format("Try(tagged(&x_wanted, {}, in, kFloat, kAny));", in.size()));
    writer.Line(fmt::format("Try(tagged(&y_wanted, {}, out, kFloat, kAny));", out.size()));
  }
  writer.Line(fmt::format("Try(tagged(&w_wanted, {}, window, kFloat, kAny));", weights.size()));
  Lines(writer, kChosen);
  writer.Close();
  Lines(writer, kCalls);
  writer.Close(";");
  writer.Line(fmt::format("Library_{} library_{};", target, target));
  writer.Blank();
  writer.Open(fmt::format("void PackLibrary_{}(const float* weights, int threads)", target));
  writer.Line(fmt::format("library_{}.Pack(weights, threads);", target));
  writer.Close();
  writer.EndFunction();
}

}  // namespace

bool LibraryTakes(const Kernel& kernel) {
  if (kernel.variant == "transposed") return false;
  const Convolution conv(kernel);
  using C = Convolution;
  const auto dense = [&](std::size_t input, const std::vector<std::pair<C::Dim, std::int64_t>>& dims) {
    const Expr& expr = kernel.inputs[input];
    if (expr->kind != Expr::Kind::kLoad) return false;
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

bool OpenLibraryRun(const KernelProgram& program, const Kernel& kernel, const Convolution& conv, Writer& writer) {
  if (!LibraryTakes(kernel) || kernel.target_type != DType::kF32) return false;
  const int x = InputOperand(kernel, 0).buffer, w = InputOperand(kernel, 1).buffer;
  for (const int buffer : {x, w}) {
    if (program.buffers[static_cast<std::size_t>(buffer)].dtype != DType::kF32) return false;
  }
  WriteLibrary(kernel, conv, writer);
  const std::string& target = writer.TargetName();
  const std::string threads = writer.parallel() ? writer.ThreadsText() : "1";
  if (WordSetting(kernel, "prepack") == "auto" &&
      program.buffers[static_cast<std::size_t>(w)].home == KernelBuffer::Home::kParameter) {
    writer.Prepare({.function = "PackLibrary_" + target, .buffers = {w}, .scratch = {}});
  } else {
    writer.Line(fmt::format("PackLibrary_{}({}, {});", target, writer.BufferName(w), threads));
  }
  writer.Open(fmt::format("if (library_{}.Run({}, {}, {}))", target, writer.BufferName(x), target, threads));
  return true;
}

}  // namespace hone::dsl
