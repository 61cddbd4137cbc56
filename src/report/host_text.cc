#include "report/host_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/sha256.h"

namespace hone {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : c == '\n' ? "\\n" : std::string(1, c);
  return out + '"';
}

namespace {

std::string NumberText(const NumberArgument& number, const std::string& name) {
  using Type = NumberArgument::Type;
  static const std::map<Type, std::string_view> types = {
      {Type::kI8, "signed char"}, {Type::kU8, "unsigned char"}, {Type::kI16, "short"}, {Type::kU16, "unsigned short"},
      {Type::kI32, "int"},        {Type::kU32, "unsigned"},     {Type::kI64, "long"},  {Type::kU64, "unsigned long"},
      {Type::kF32, "float"},      {Type::kF64, "double"}};
  const std::string_view type = types.at(number.type);
  std::string value;
  if (const auto* real = std::get_if<double>(&number.value)) {
    value = std::isnan(*real)   ? "NAN"
            : std::isinf(*real) ? (*real < 0 ? "-INFINITY" : "INFINITY")
                                : fmt::format("{:a}", *real);
  } else if (const auto* whole = std::get_if<std::int64_t>(&number.value)) {
    value =
        *whole == std::numeric_limits<std::int64_t>::min() ? "-9223372036854775807l - 1" : fmt::format("{}l", *whole);
  } else {
    value = fmt::format("{}ul", std::get<std::uint64_t>(number.value));
  }
  return fmt::format("{0} {1} = static_cast<{0}>({2});\n", type, name, value);
}

// What library_calls.h calls types and arithmetic.
std::string_view LibraryType(DType dtype) {
  switch (dtype) {
    case DType::kF64: return "kF64";
    case DType::kF16: return "kF16";
    case DType::kBF16: return "kBF16";
    default: return "kF32";  // libraries are called for no others (CheckStep)
  }
}

std::string_view LibraryComputeText(LibraryCompute compute) {
  switch (compute) {
    case LibraryCompute::kF32: return "kInF32";
    case LibraryCompute::kTf32: return "kInTf32";
    case LibraryCompute::kF16: return "kInF16";
    case LibraryCompute::kBf16: return "kInBf16";
    case LibraryCompute::kF64: return "kInF64";
  }
  return "";
}

std::string_view EndText(Activation activation) {
  switch (activation) {
    case Activation::kNone: return "kNoEnd";
    case Activation::kRelu: return "kRelu";
    case Activation::kGelu: return "kGelu";
  }
  return "";
}

// What a step reads or writes.
void AddBuffers(const PlanStep& step, std::set<std::string>& names) {
  if (const auto* set = std::get_if<MemsetStep>(&step)) names.insert(set->buffer);
  if (const auto* matmul = std::get_if<MatmulStep>(&step)) {
    names.insert({matmul->a.buffer, matmul->b.buffer, matmul->d.buffer, matmul->workspace});
    if (matmul->c) names.insert(matmul->c->buffer);
    if (matmul->bias) names.insert(matmul->bias->name);
  }
  if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
    names.insert({convolution->x.buffer, convolution->w.buffer, convolution->y.buffer, convolution->workspace});
    if (convolution->bias) names.insert(convolution->bias->name);
  }
  const auto* launch = std::get_if<LaunchStep>(&step);
  if (launch == nullptr) return;
  for (const PlanArgument& argument : launch->arguments) {
    if (const auto* buffer = std::get_if<BufferArgument>(&argument)) names.insert(buffer->name);
    if (const auto* map = std::get_if<TensorMapArgument>(&argument)) names.insert(map->buffer);
  }
}

// The C interface of kernel.cc. Calls come one after another: what is loaded and described is theirs together.
constexpr std::string_view kEntry = R"(
extern "C" {

// Queues the plan's preparation or its run on `stream`, of the device with this ordinal, and returns. `at`: addresses of
// inputs, outputs and scratch memory, of an output that updates an input that one's; `kept`: of parameters, and of the
// memory that preparation fills. From any thread.
// Null, or one line that says what failed, until this thread's next call.
__attribute__((visibility("default"))) const char* hone_launch(const Address* at, const Address* kept, int device,
                                                               int prepare, void* stream) {
  static std::mutex one_at_a_time;
  static thread_local std::string failed;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  hone_launches::Call call(device, stream);
  if (call.Begin(kImages, kImageCount, kKernels, kKernelCount)) prepare != 0 ? Prepare(call, at, kept) : Run(call, at, kept);
  if (call.error().empty()) return nullptr;
  failed = call.error();
  return failed.c_str();
}

}  // extern "C"
)";

// Writes it, step by step: in the words of CUDA's runtime, or of the driver where the plan is compiled.
class HostWriter {
 public:
  HostWriter(const Plan& plan, const Problem& problem) : plan_(plan) {
    std::size_t position = 0;
    const auto next = [&] { return fmt::format("at[{}]", position++); };
    for (const Role role : {Role::kInput, Role::kParameter, Role::kOutput}) {
      for (const Tensor* tensor : Of(problem, role)) Add(tensor->name, tensor->dtype, tensor->shape, next(), 0);
    }
    for (const PlanBuffer& buffer : plan.buffers) Add(buffer.name, buffer.dtype, buffer.shape, next(), 0);
  }
  HostWriter(const Plan& plan, const Problem& problem, const CompiledPlan& compiled)
      : plan_(plan), compiled_(&compiled) {
    std::size_t moving = 0, kept = 0;
    for (const Role role : {Role::kInput, Role::kOutput}) {
      for (const Tensor* tensor : Of(problem, role))
        Add(tensor->name, tensor->dtype, tensor->shape, fmt::format("at[{}]", moving++), 0);
    }
    for (const Tensor* tensor : Of(problem, Role::kParameter))
      Add(tensor->name, tensor->dtype, tensor->shape, fmt::format("kept[{}]", kept++), 0);
    const BufferPlaces places = PlacesOf(plan);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan.buffers[i];
      Add(buffer.name, buffer.dtype, buffer.shape,
          places.kept[i] ? fmt::format("kept[{}]", kept) : fmt::format("at[{}]", moving), places.begins[i]);
    }
  }

  // kernel.cc behind its #include lines.
  std::string DriverText() {
    const std::string prepare = DriverSteps(plan_.prepare, compiled_->prepare, {});
    const std::string steps = DriverSteps(plan_.steps, compiled_->launches, compiled_->early);
    std::string cubins, images;
    for (std::size_t i = 0; i < compiled_->cubins.size(); ++i) {
      cubins += fmt::format(
          "// SHA-256 {1}\n"
          "asm(\".section .rodata\\n.balign 64\\nhone_cubin_{0}:\\n.incbin \\\"{2}\\\"\\n.previous\\n\");\n"
          "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char hone_cubin_{0}[];\n",
          i, Sha256(compiled_->cubins[i]), CubinFile(i));
      images += fmt::format("{}{{hone_cubin_{}}}", i == 0 ? "" : ", ", i);
    }
    // An array of nothing is none of C++'s.
    if (images.empty()) images = "{nullptr}";
    if (kernels_.empty()) kernels_ = "    {nullptr, nullptr, 0, {}, {}, {}, 0, 0, false},\n";
    std::string text = cubins + "\nnamespace {\n\nusing hone_launches::Address;\n\n";
    text += fmt::format("const hone_launches::Image kImages[] = {{{}}};\n", images);
    text +=
        fmt::format("constexpr int kImageCount = {}, kKernelCount = {};\n", compiled_->cubins.size(), kernel_count_);
    text +=
        "// One a launch: its names, cubin, grid, block, cluster, dynamic shared memory, blocks that wait for each "
        "other, early\n";
    text += "const hone_launches::Kernel kKernels[] = {\n" + kernels_ + "};\n\n";
    const std::string_view arguments = "hone_launches::Call& call, const Address* at, const Address* kept";
    text += fmt::format("[[maybe_unused]] void Prepare({}) {{\n{}{}}}\n\n", arguments, kUnused, prepare);
    return text + fmt::format("void Run({}) {{\n{}{}}}\n\n}}  // namespace\n", arguments, kUnused, steps);
  }

  std::string Text() {
    std::string steps = "  if (prepare) {\n";
    for (const PlanStep& step : plan_.prepare) steps += StepText(step, "    ");
    if (plan_.prepare.empty()) {
      steps.clear();
    } else {
      steps += "    return;\n  }\n";
    }
    for (const PlanStep& step : plan_.steps) steps += StepText(step, "  ");
    std::string text = RuntimeText(maps_, CallsLibraries(plan_)) +
                       "// `at`: the addresses of inputs, parameters, outputs and buffers, in the order of the lists "
                       "in Python; an output\n"
                       "// that is written into an input lies where that does.\n"
                       "void hone_launch(const std::vector<std::int64_t>& at, bool prepare, std::int64_t on) {\n"
                       "  const auto stream = reinterpret_cast<cudaStream_t>(on);\n";
    text += plan_.prepare.empty() ? "  if (prepare) return;\n" : "";
    return text + steps + "}\n";
  }

 private:
  static constexpr std::string_view kUnused =
      "  static_cast<void>(call), static_cast<void>(at), static_cast<void>(kept);\n";

  struct Memory {
    std::string base;         // an address, as the text has it
    std::int64_t begins = 0;  // bytes behind it
    DType dtype = DType::kF32;
    std::int64_t bytes = 0;
  };

  static std::vector<const Tensor*> Of(const Problem& problem, Role role) {
    std::vector<const Tensor*> found;
    for (const Tensor& tensor : problem.tensors) {
      if (tensor.role == role) found.push_back(&tensor);
    }
    return found;
  }

  void Add(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape, std::string base,
           std::int64_t begins) {
    memory_[name] = {std::move(base), begins, dtype, ElementCount(shape) * static_cast<std::int64_t>(Bytes(dtype))};
  }

  std::string Address(const std::string& name, std::int64_t offset) const {
    const std::string address = memory_.at(name).base + Beyond(name, offset);
    return compiled_ != nullptr ? address : fmt::format("reinterpret_cast<void*>({})", address);
  }
  // " + 8": so many bytes behind its base lies that element of it.
  std::string Beyond(const std::string& name, std::int64_t offset) const {
    const Memory& memory = memory_.at(name);
    const std::int64_t bytes = memory.begins + offset * static_cast<std::int64_t>(Bytes(memory.dtype));
    return bytes == 0 ? "" : fmt::format(" + {}", bytes);
  }

  std::string DriverSteps(const std::vector<PlanStep>& steps, const std::vector<std::string>& symbols,
                          const std::vector<bool>& early) {
    std::string text;
    std::size_t launches = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (const auto* launch = std::get_if<LaunchStep>(&steps[i])) {
        const auto extents = [](const std::array<std::int64_t, 3>& of) {
          return fmt::format("{{{}, {}, {}}}", of[0], of[1], of[2]);
        };
        kernels_ +=
            fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", Quoted(launch->kernel),
                        Quoted(symbols[launches++]), launch->source, extents(launch->grid), extents(launch->block),
                        extents(launch->cluster), launch->shared_bytes, launch->together, i < early.size() && early[i]);
      }
      text += StepText(steps[i], "  ");
    }
    return text;
  }

  // As an expression, or of the driver as the statement that fills in `name`.
  std::string MapText(const TensorMapArgument& map, const std::string& name) {
    maps_ = true;
    const auto element = static_cast<std::int64_t>(Bytes(memory_.at(map.buffer).dtype));
    std::string extents, strides, box;
    for (std::size_t d = map.shape.size(); d-- > 0;) {
      const std::string_view comma = extents.empty() ? "" : ", ";
      extents += fmt::format("{}{}", comma, map.shape[d]);
      if (!map.pixels) box += fmt::format("{}{}", comma, map.box[d]);
      // Of the dimension outside this one; the outermost has none.
      strides += fmt::format("{}{}", comma, d > 0 ? map.strides[d - 1] * element : 0);
    }
    box = fmt::format("{{{}}}", box);
    if (map.pixels) {
      const auto inside_out = [](std::vector<std::int64_t> of) {
        std::reverse(of.begin(), of.end());
        return fmt::format("{}", fmt::join(of, ", "));
      };
      box = fmt::format("{{{}}}, {{{}}}, {{1, {}, 1}}, {}, {}", inside_out(map.pixels->lower),
                        inside_out(map.pixels->upper), inside_out(map.pixels->stride), map.box[1], map.box[0]);
    }
    const DTypeRow& type = RowOf(memory_.at(map.buffer).dtype);
    if (compiled_ != nullptr) {
      return fmt::format(
          "static hone_launches::KeptMap {0};\n"
          "    if (!call.Map<{1}>({0}, {2}, {3}, {{{4}}}, {{{5}}}, {6}, {7}, {8})) return;\n",
          name, map.shape.size(), Address(map.buffer, map.offset), map.tf32 ? kTf32MapCode : type.tensor_map_code,
          extents, strides, box, map.swizzle == 128 ? 3 : map.swizzle / 32, map.promote == 256 ? 3 : map.promote / 64);
    }
    return fmt::format(
               "CUtensorMap {} = hone_host::MapOf<{}>({}, CU_TENSOR_MAP_DATA_TYPE_{}, {{{}}}, {{{}}}, {}, {}, {})",
               name, map.shape.size(), Address(map.buffer, map.offset), map.tf32 ? "TFLOAT32" : type.tensor_map,
               extents, strides, box,
               map.swizzle == 0 ? std::string("CU_TENSOR_MAP_SWIZZLE_NONE")
                                : fmt::format("CU_TENSOR_MAP_SWIZZLE_{}B", map.swizzle),
               map.promote == 0 ? std::string("CU_TENSOR_MAP_L2_PROMOTION_NONE")
                                : fmt::format("CU_TENSOR_MAP_L2_PROMOTION_L2_{}B", map.promote)) +
           ";\n";
  }

  // An address of a library's call; 0 where there is nothing.
  std::string Place(const std::string& name, std::int64_t offset) const {
    if (name.empty()) return "0";
    return fmt::format("hone_library::Address({}){}", memory_.at(name).base, Beyond(name, offset));
  }
  template <class Argument>
  std::string Place(const std::optional<Argument>& argument) const {
    if (!argument) return "0";
    if constexpr (std::is_same_v<Argument, BufferArgument>) {
      return Place(argument->name, argument->offset);
    } else {
      return Place(argument->buffer, argument->offset);
    }
  }
  std::int64_t WorkspaceBytes(const std::string& name) const { return name.empty() ? 0 : memory_.at(name).bytes; }

  // Described on the first call, asked for on every one. `call`: Matmul or Convolution.
  std::string LibraryCallText(std::string_view library, std::string_view files, std::string_view call,
                              const std::string& spec, const std::string& memory, const std::string& indent) const {
    if (compiled_ != nullptr) {
      return fmt::format(
          "{0}{{\n"
          "{0}  static std::map<int, hone_library::{1}::{2}*> described;\n"
          "{0}  static const hone_library::{2}Spec spec{{{3}}};\n"
          "{0}  if (!hone_launches::RunLibrary<hone_library::{1}>(call, {{{4}}}, described, spec,\n"
          "{0}                                               hone_library::{2}Memory{{{5}}}))\n"
          "{0}    return;\n"
          "{0}}}\n",
          indent, library, call, spec, files, memory);
    }
    return fmt::format(
        "{0}{{\n"
        "{0}  static hone_host::OneADevice<hone_library::{1}::{2}> calls;\n"
        "{0}  static const hone_library::{2}Spec spec{{{3}}};\n"
        "{0}  hone_host::Run(hone_host::Opened<hone_library::{1}>({{{4}}}), calls, spec,\n"
        "{0}                 hone_library::{2}Memory{{{5}}}, stream);\n"
        "{0}}}\n",
        indent, library, call, spec, files, memory);
  }

  std::string MatmulText(const MatmulStep& step, const std::string& indent) const {
    const auto layout = [&](const MatrixArgument& matrix) {
      return fmt::format("{{hone_library::{}, {{{{{}, {}}}}}, {}}}", LibraryType(memory_.at(matrix.buffer).dtype),
                         matrix.strides[0], matrix.strides[1], matrix.batch_stride);
    };
    const MatrixArgument& c = step.c ? *step.c : step.d;
    const std::string spec =
        fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, hone_library::{}, hone_library::{}, {:a}, {:a}, {}, {}",
                    step.m, step.n, step.k, step.batch, layout(step.a), layout(step.b), layout(c), layout(step.d),
                    step.bias.has_value(), LibraryComputeText(step.compute), EndText(step.activation), step.alpha,
                    step.beta, step.algorithm, WorkspaceBytes(step.workspace));
    const auto place = [&](const MatrixArgument& matrix) { return Place(matrix.buffer, matrix.offset); };
    const std::string memory = fmt::format("{}, {}, {}, {}, {}, {}", place(step.a), place(step.b), place(c),
                                           place(step.d), Place(step.bias), Place(step.workspace, 0));
    return LibraryCallText("CublasLt", "\"libcublasLt.so.13\", \"libcublasLt.so.12\"", "Matmul", spec, memory, indent);
  }

  std::string ConvolutionText(const ConvolutionStep& step, const std::string& indent) const {
    const auto list = [](const std::vector<std::int64_t>& values) {
      return fmt::format("{{{}}}", fmt::join(values, ", "));
    };
    const auto layout = [&](const StridedArgument& tensor) {
      return fmt::format("{{hone_library::{}, {}, {}}}", LibraryType(memory_.at(tensor.buffer).dtype),
                         list(tensor.shape), list(tensor.strides));
    };
    const std::string spec =
        fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, hone_library::{}, hone_library::{}, {}, {}", layout(step.x),
                    layout(step.w), layout(step.y), list(step.stride), list(step.padding), list(step.dilation),
                    step.groups, step.transposed, step.bias.has_value(), LibraryComputeText(step.compute),
                    EndText(step.activation), step.algorithm, WorkspaceBytes(step.workspace));
    const auto place = [&](const StridedArgument& tensor) { return Place(tensor.buffer, tensor.offset); };
    const std::string memory = fmt::format("{}, {}, {}, {}, {}", place(step.x), place(step.w), place(step.y),
                                           Place(step.bias), Place(step.workspace, 0));
    return LibraryCallText("Cudnn", "\"libcudnn.so.9\"", "Convolution", spec, memory, indent);
  }

  std::string StepText(const PlanStep& step, const std::string& indent) {
    if (const auto* set = std::get_if<MemsetStep>(&step)) {
      if (compiled_ != nullptr) {
        return fmt::format("{}if (!call.Fill({}, {}, {})) return;\n", indent, Address(set->buffer, 0), set->byte,
                           memory_.at(set->buffer).bytes);
      }
      return fmt::format("{}hone_host::Check(cudaMemsetAsync({}, {}, {}, stream), \"memset\");\n", indent,
                         Address(set->buffer, 0), set->byte, memory_.at(set->buffer).bytes);
    }
    if (const auto* matmul = std::get_if<MatmulStep>(&step)) return MatmulText(*matmul, indent);
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) return ConvolutionText(*convolution, indent);
    const auto& launch = std::get<LaunchStep>(step);
    std::string text = indent + "{\n", arguments;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string name = fmt::format("a{}", i);
      text += indent + "  ";
      if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i])) {
        text +=
            fmt::format("{} {} = {};\n", compiled_ ? "Address" : "void*", name, Address(buffer->name, buffer->offset));
      } else if (const auto* number = std::get_if<NumberArgument>(&launch.arguments[i])) {
        text += NumberText(*number, name);
      } else {
        text += MapText(std::get<TensorMapArgument>(launch.arguments[i]), name);
      }
      const bool map = std::holds_alternative<TensorMapArgument>(launch.arguments[i]);
      arguments += fmt::format("{}&{}{}", arguments.empty() ? "" : ", ", name, map && compiled_ ? ".map" : "");
    }
    text += fmt::format("{}  void* arguments[] = {{{}}};\n", indent, arguments.empty() ? "nullptr" : arguments);
    if (compiled_ != nullptr)
      return text + fmt::format("{0}  if (!call.Run({1}, arguments)) return;\n{0}}}\n", indent, kernel_count_++);
    const auto extents = [](const std::array<std::int64_t, 3>& of) {
      return fmt::format("dim3({}, {}, {})", of[0], of[1], of[2]);
    };
    text += fmt::format(
        "{}  hone_host::Launch({}, reinterpret_cast<const void*>(&{}), {}, {}, {}, {}, {}, arguments, stream);\n",
        indent, Quoted(launch.kernel), launch.kernel, extents(launch.grid), extents(launch.block),
        extents(launch.cluster), launch.shared_bytes, launch.together);
    return text + indent + "}\n";
  }

  const Plan& plan_;
  const CompiledPlan* compiled_ = nullptr;  // null: in the runtime's words
  std::map<std::string, Memory> memory_;
  bool maps_ = false;
  std::string kernels_;  // rows of the driver's table
  int kernel_count_ = 0;
};

}  // namespace

std::string HostText(const Plan& plan, const Problem& problem) { return HostWriter(plan, problem).Text(); }

std::string KernelText(const Plan& plan, const Problem& problem, const CompiledPlan& compiled) {
  std::string text = fmt::format(
      "// {}: the launches of a kernel for a CUDA device, compiled for {}. Any C++17 compiler builds it, in the "
      "folder\n"
      "// that it is in; it needs the driver and no toolkit.\n",
      problem.name, plan.arch);
  text += "#include <cmath>\n#include <map>\n#include <mutex>\n#include <string>\n\n";
  text += "#include \"hone/launches.h\"\n";
  if (CallsLibraries(plan)) text += "#include \"hone/library_calls.h\"\n#include \"hone/library_launches.h\"\n";
  text += '\n' + HostWriter(plan, problem, compiled).DriverText();
  return text + std::string(kEntry);
}

std::string CubinFile(std::size_t source) { return fmt::format("kernels/{}.cubin", source); }

BufferPlaces PlacesOf(const Plan& plan) {
  constexpr std::int64_t kAlignment = 512;  // bytes, as tensors lie where a plan is judged
  std::set<std::string> prepared;
  for (const PlanStep& step : plan.prepare) AddBuffers(step, prepared);
  BufferPlaces places;
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool kept = prepared.contains(buffer.name);
    std::int64_t& bytes = kept ? places.kept_bytes : places.scratch_bytes;
    places.kept.push_back(kept);
    places.begins.push_back(bytes);
    const std::int64_t size = ElementCount(buffer.shape) * static_cast<std::int64_t>(Bytes(buffer.dtype));
    bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return places;
}

}  // namespace hone
