#include "report/host_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>

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

// Writes it, step by step.
class HostWriter {
 public:
  HostWriter(const Plan& plan, const Problem& problem) : plan_(plan) {
    for (const Role role : {Role::kInput, Role::kParameter, Role::kOutput}) {
      for (const Tensor& tensor : problem.tensors) {
        if (tensor.role == role) Add(tensor.name, tensor.dtype, ElementCount(tensor.shape));
      }
    }
    for (const PlanBuffer& buffer : plan.buffers) Add(buffer.name, buffer.dtype, ElementCount(buffer.shape));
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
    std::string text =
        "// --- The host's part: the launches of the plan.\n\n"
        "namespace hone_host {\n\n"
        "void Check(cudaError_t code, const char* what) {\n"
        "  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + \": \" + cudaGetErrorString(code));\n"
        "}\n\n"
        "void Launch(const char* name, const void* kernel, dim3 grid, dim3 block, dim3 cluster, int shared, int "
        "together,\n"
        "            void** arguments, cudaStream_t stream) {\n"
        "  if (shared > 48 << 10)\n"
        "    Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), name);\n"
        "  if (together > 1) {  // blocks that wait for each other\n"
        "    int device = 0, processors = 0, blocks = 0;\n"
        "    Check(cudaGetDevice(&device), name);\n"
        "    Check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), name);\n"
        "    Check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block.x * block.y * block.z, "
        "shared), "
        "name);\n"
        "    if (blocks * processors < together)\n"
        "      throw std::runtime_error(std::string(name) + \": the device holds too few of its blocks at once\");\n"
        "  }\n"
        "  cudaLaunchAttribute attribute{};\n"
        "  attribute.id = cudaLaunchAttributeClusterDimension;\n"
        "  attribute.val.clusterDim.x = cluster.x;\n"
        "  attribute.val.clusterDim.y = cluster.y;\n"
        "  attribute.val.clusterDim.z = cluster.z;\n"
        "  cudaLaunchConfig_t config{};\n"
        "  config.gridDim = grid;\n"
        "  config.blockDim = block;\n"
        "  config.dynamicSmemBytes = static_cast<size_t>(shared);\n"
        "  config.stream = stream;\n"
        "  config.attrs = &attribute;\n"
        "  config.numAttrs = cluster.x * cluster.y * cluster.z > 1 ? 1 : 0;\n"
        "  Check(cudaLaunchKernelExC(&config, kernel, arguments), name);\n"
        "}\n\n";
    if (maps_) {
      text +=
          "// The driver's function, without linking the driver.\n"
          "decltype(&cuTensorMapEncodeTiled) EncodeTiled() {\n"
          "  void* function = nullptr;\n"
          "  cudaDriverEntryPointQueryResult found{};\n"
          "#if CUDART_VERSION >= 12050\n"
          "  Check(cudaGetDriverEntryPointByVersion(\"cuTensorMapEncodeTiled\", &function, 12000, cudaEnableDefault, "
          "&found),\n"
          "        \"cuTensorMapEncodeTiled\");\n"
          "#else\n"
          "  Check(cudaGetDriverEntryPoint(\"cuTensorMapEncodeTiled\", &function, cudaEnableDefault, &found),\n"
          "        \"cuTensorMapEncodeTiled\");\n"
          "#endif\n"
          "  if (function == nullptr) throw std::runtime_error(\"the driver is older than CUDA 12.0\");\n"
          "  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);\n"
          "}\n\n"
          "// Extents, strides (bytes, from the second dimension on) and box count from the innermost dimension.\n"
          "template <unsigned RANK>\n"
          "CUtensorMap MapOf(void* address, CUtensorMapDataType type, const cuuint64_t (&extents)[RANK],\n"
          "                  const cuuint64_t (&strides)[RANK], const cuuint32_t (&box)[RANK], CUtensorMapSwizzle "
          "swizzle,\n"
          "                  CUtensorMapL2promotion promotion) {\n"
          "  static const auto encode = EncodeTiled();\n"
          "  cuuint32_t ones[RANK];\n"
          "  for (unsigned d = 0; d < RANK; ++d) ones[d] = 1;\n"
          "  CUtensorMap map;\n"
          "  if (encode(&map, type, RANK, address, extents, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, "
          "swizzle,\n"
          "             promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)\n"
          "    throw std::runtime_error(\"the driver refuses a tensor map\");\n"
          "  return map;\n"
          "}\n\n";
    }
    if (CallsLibraries(plan_)) {
      text +=
          "// A library that PyTorch has loaded; null if it has no such function.\n"
          "hone_library::Find In(std::initializer_list<const char*> names) {\n"
          "  for (const char* name : names) {\n"
          "    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL))\n"
          "      return [library](const char* symbol) { return dlsym(library, symbol); };\n"
          "  }\n"
          "  throw std::runtime_error(std::string(\"cannot open \") + *names.begin() + \": \" + dlerror());\n"
          "}\n\n"
          "void Check(const hone_library::Status& status) {\n"
          "  if (status.failed()) throw std::runtime_error(status.error);\n"
          "}\n\n"
          "// Handles and described calls stay for the life of the process, one a device: at its end the driver may "
          "be\n"
          "// gone before them.\n"
          "template <class Value>\n"
          "struct OneADevice {\n"
          "  Value& Here(bool* made) {\n"
          "    int device = 0;\n"
          "    Check(cudaGetDevice(&device), \"cudaGetDevice\");\n"
          "    Value*& value = values[device];\n"
          "    *made = value == nullptr;\n"
          "    if (*made) value = new Value;\n"
          "    return *value;\n"
          "  }\n"
          "  std::map<int, Value*> values;\n"
          "};\n\n"
          "template <class Library>\n"
          "Library& Opened(std::initializer_list<const char*> names) {\n"
          "  static OneADevice<Library> libraries;\n"
          "  bool made = false;\n"
          "  Library& library = libraries.Here(&made);\n"
          "  if (made) Check(library.Open(In(names)));\n"
          "  return library;\n"
          "}\n\n"
          "template <class Library, class Call, class Spec, class Memory>\n"
          "void Run(Library& library, OneADevice<Call>& calls, const Spec& spec, const Memory& memory, cudaStream_t "
          "stream) {\n"
          "  bool made = false;\n"
          "  Call& call = calls.Here(&made);\n"
          "  if (made) Check(library.Describe(spec, memory, call));\n"
          "  Check(library.Run(call, memory, stream));\n"
          "}\n\n";
    }
    text +=
        "}  // namespace hone_host\n\n"
        "// `at`: the addresses of inputs, parameters, outputs and buffers, in the order of the lists in Python.\n"
        "void hone_launch(const std::vector<std::int64_t>& at, bool prepare, std::int64_t on) {\n"
        "  const auto stream = reinterpret_cast<cudaStream_t>(on);\n";
    text += plan_.prepare.empty() ? "  if (prepare) return;\n" : "";
    return text + steps + "}\n";
  }

 private:
  struct Memory {
    std::size_t position = 0;
    DType dtype = DType::kF32;
    std::int64_t bytes = 0;
  };

  void Add(const std::string& name, DType dtype, std::int64_t count) {
    const std::size_t position = memory_.size();
    memory_[name] = {position, dtype, count * static_cast<std::int64_t>(Bytes(dtype))};
  }

  std::string Address(const std::string& name, std::int64_t offset) const {
    return fmt::format("reinterpret_cast<void*>(at[{}]{})", memory_.at(name).position, Beyond(name, offset));
  }
  // " + 8": so many elements of it behind its begin, in bytes.
  std::string Beyond(const std::string& name, std::int64_t offset) const {
    return offset == 0 ? "" : fmt::format(" + {}", offset * static_cast<std::int64_t>(Bytes(memory_.at(name).dtype)));
  }

  std::string MapText(const TensorMapArgument& map) {
    maps_ = true;
    const auto element = static_cast<std::int64_t>(Bytes(memory_.at(map.buffer).dtype));
    std::string extents, strides, box;
    for (std::size_t d = map.shape.size(); d-- > 0;) {
      const std::string_view comma = extents.empty() ? "" : ", ";
      extents += fmt::format("{}{}", comma, map.shape[d]);
      box += fmt::format("{}{}", comma, map.box[d]);
      // Of the dimension outside this one; the outermost has none.
      strides += fmt::format("{}{}", comma, d > 0 ? map.strides[d - 1] * element : 0);
    }
    return fmt::format("hone_host::MapOf<{}>({}, CU_TENSOR_MAP_DATA_TYPE_{}, {{{}}}, {{{}}}, {{{}}}, {}, {})",
                       map.shape.size(), Address(map.buffer, map.offset),
                       RowOf(memory_.at(map.buffer).dtype).tensor_map, extents, strides, box,
                       map.swizzle == 0 ? std::string("CU_TENSOR_MAP_SWIZZLE_NONE")
                                        : fmt::format("CU_TENSOR_MAP_SWIZZLE_{}B", map.swizzle),
                       map.promote == 0 ? std::string("CU_TENSOR_MAP_L2_PROMOTION_NONE")
                                        : fmt::format("CU_TENSOR_MAP_L2_PROMOTION_L2_{}B", map.promote));
  }

  // An address of a library's call; 0 where there is nothing.
  std::string Place(const std::string& name, std::int64_t offset) const {
    if (name.empty()) return "0";
    return fmt::format("hone_library::Address(at[{}]){}", memory_.at(name).position, Beyond(name, offset));
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
  static std::string LibraryCallText(std::string_view library, std::string_view files, std::string_view call,
                                     const std::string& spec, const std::string& memory, const std::string& indent) {
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
        text += fmt::format("void* {} = {};\n", name, Address(buffer->name, buffer->offset));
      } else if (const auto* number = std::get_if<NumberArgument>(&launch.arguments[i])) {
        text += NumberText(*number, name);
      } else {
        text += fmt::format("CUtensorMap {} = {};\n", name, MapText(std::get<TensorMapArgument>(launch.arguments[i])));
      }
      arguments += fmt::format("{}&{}", arguments.empty() ? "" : ", ", name);
    }
    const auto extents = [](const std::array<std::int64_t, 3>& of) {
      return fmt::format("dim3({}, {}, {})", of[0], of[1], of[2]);
    };
    text += fmt::format("{}  void* arguments[] = {{{}}};\n", indent, arguments.empty() ? "nullptr" : arguments);
    text += fmt::format(
        "{}  hone_host::Launch({}, reinterpret_cast<const void*>(&{}), {}, {}, {}, {}, {}, arguments, stream);\n",
        indent, Quoted(launch.kernel), launch.kernel, extents(launch.grid), extents(launch.block),
        extents(launch.cluster), launch.shared_bytes, launch.together);
    return text + indent + "}\n";
  }

  const Plan& plan_;
  std::map<std::string, Memory> memory_;
  bool maps_ = false;
};

}  // namespace

std::string HostText(const Plan& plan, const Problem& problem) { return HostWriter(plan, problem).Text(); }

}  // namespace hone
