#include "dsl/cuda/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "dsl/cuda/device_helpers.h"
#include "dsl/element.h"
#include "dsl/family.h"
#include "dsl/once.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostInt = std::int64_t{1} << 31;

}  // namespace

std::string DeviceType(DType dtype) { return std::string(RowOf(dtype).cuda); }

std::vector<int> OperandBuffers(std::span<const Kernel> kernels) {
  std::vector<int> buffers;
  for (const auto& kernel : kernels) {
    for (const auto& operand : kernel.operands) {
      if (std::find(buffers.begin(), buffers.end(), operand.buffer) == buffers.end()) buffers.push_back(operand.buffer);
    }
  }
  return buffers;
}

std::string LoadedText(const DeviceWriter& writer, int buffer, const std::string& element) {
  const DType dtype = writer.program().buffers[static_cast<std::size_t>(buffer)].dtype;
  const std::string type = writer.Type(ScalarOf(dtype));
  return type == DeviceType(dtype) ? element : fmt::format("static_cast<{}>({})", type, element);
}

std::string PackType(DeviceWriter& writer, const std::string& element, std::int64_t count) {
  return fmt::format("{}<{}, {}>", writer.Helper("Pack"), element, count);
}

std::string PackText(const std::string& pack_type, const std::string& memory, const std::string& address) {
  return fmt::format("*reinterpret_cast<const {}*>({} + {})", pack_type, memory, address);
}

DeviceWriter::DeviceWriter(const KernelProgram& program) : program_(program) {
  for (const auto& buffer : program.buffers) {
    names_.push_back(Spelled(buffer.name));
    if (ElementCount(buffer.shape) >= kMostInt) index_type_ = "long";
    if (buffer.home == KernelBuffer::Home::kIntermediate)
      plan_.buffers.push_back({buffer.name, buffer.dtype, {std::max<std::int64_t>(ElementCount(buffer.shape), 1)}});
  }
  kernel_names_ = {names_.begin(), names_.end()};
  // Nothing counts folded and kept dimensions in one number, and the places that a convolution reads, which stand
  // behind both, in none.
  for (const auto& kernel : program.kernels) {
    double kept = 1, folded = 1;
    const bool convolves = kernel.family->name == "conv";
    const std::size_t counted = convolves ? 2 * SpatialOf(kernel) + 3 : kernel.space.size();
    for (std::size_t d = 0; d < counted; ++d) {
      const bool reduced = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
      (reduced && !kernel.family->keeps_axes ? folded : kept) *= static_cast<double>(kernel.space[d].extent);
    }
    if (std::max(kept, folded) >= static_cast<double>(kMostInt)) index_type_ = "long";
  }
}

void DeviceWriter::Line(std::string_view line) {
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  text_ += line;
  text_ += '\n';
}
void DeviceWriter::Open(std::string_view head) {
  Line(std::string(head) + (head.empty() ? "{" : " {"));
  ++depth_;
}
void DeviceWriter::Close() { CloseWith(""); }
void DeviceWriter::CloseWith(std::string_view tail) {
  --depth_;
  Line(fmt::format("}}{}", tail));
}

std::string DeviceWriter::Fresh(const std::string& hint) {
  std::string name = hint;
  for (int n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", hint, n);
  fresh_.push_back(name);
  return name;
}

std::string DeviceWriter::Helper(std::string_view name) {
  if (helpers_.emplace(name).second) {
    const DeviceHelper& helper = FindDeviceHelper(name);
    for (const std::string_view needed : helper.needs) {
      if (!needed.empty()) Helper(needed);
    }
    head_.emplace_back(helper.text);
  }
  return std::string(name);
}

void DeviceWriter::Define(const std::string& text) {
  if (functions_.insert(text).second) head_.push_back(text);
}

void DeviceWriter::Begin(const Kernel& kernel) {
  kernel_ = &kernel;
  wide_ = ComputeType(program_, kernel) == DType::kF64;
  comment_ = "// ";
  for (const char c : kernel.text) comment_ += c == '\n' ? std::string("\n//") : std::string(1, c);
}

std::string DeviceWriter::Type(ScalarType type) const {
  return type == ScalarType::kReal ? (wide_ ? "double" : "float") : type == ScalarType::kInt ? "long" : "bool";
}

std::string DeviceWriter::Number(double value) const {
  if (!wide_) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return wide_ ? "__longlong_as_double(0x7ff8000000000000ll)" : "__int_as_float(0x7fc00000)";
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") +
           (wide_ ? "__longlong_as_double(0x7ff0000000000000ll)" : "__int_as_float(0x7f800000)");
  std::string text = wide_ ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + (wide_ ? "" : "f");
}

std::string DeviceWriter::How(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return Helper("Adds");
    case ReduceOp::kProd: return Helper("Multiplies");
    case ReduceOp::kMax: return Helper("Larger");
    case ReduceOp::kMin: return Helper("Smaller");
    case ReduceOp::kAny: return Helper("Either");
    case ReduceOp::kAll: return Helper("Both");
    case ReduceOp::kArgMax: return Helper("FirstLarger");
    case ReduceOp::kArgMin: return Helper("FirstSmaller");
  }
  HONE_CHECK(false, "a fold of no kind");
  return "";
}

std::string DeviceWriter::Neutral(ReduceOp op, ScalarType type) const {
  const bool real = type == ScalarType::kReal;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kProd:
    case ReduceOp::kAll: return "1";
    case ReduceOp::kArgMax: return fmt::format("{{{}, kNowhere}}", Neutral(ReduceOp::kMax, type));
    case ReduceOp::kArgMin: return fmt::format("{{{}, kNowhere}}", Neutral(ReduceOp::kMin, type));
    case ReduceOp::kMax: return real ? Number(-kInfinity) : "(-9223372036854775807l - 1)";
    case ReduceOp::kMin: return real ? Number(kInfinity) : "9223372036854775807l";
    default: return "0";
  }
}

std::string DeviceWriter::Scratch(const std::string& hint, DType dtype, std::int64_t count) {
  const std::string base = fmt::format("{}_{}", BufferName(kernel_->target), hint);
  std::string name = base;
  const auto used = [&](const std::string& text) {
    return scratch_.contains(text) || std::find(names_.begin(), names_.end(), text) != names_.end() ||
           std::any_of(program_.buffers.begin(), program_.buffers.end(),
                       [&](const KernelBuffer& buffer) { return buffer.name == text; });
  };
  for (int n = 2; used(name); ++n) name = fmt::format("{}_{}", base, n);
  scratch_[name] = dtype;
  plan_.buffers.push_back({name, dtype, {std::max<std::int64_t>(count, 1)}});
  return name;
}

void DeviceWriter::BeginKernel(const std::string& hint, std::int64_t threads, int blocks_a_processor) {
  const std::string base = BufferName(kernel_->target) + "_" + hint;
  kernel_name_ = base;
  for (int n = 2; !kernel_names_.insert(kernel_name_).second; ++n) kernel_name_ = fmt::format("{}_{}", base, n);
  threads_ = threads;
  blocks_a_processor_ = blocks_a_processor;
  fresh_.clear();
  taken_ = {names_.begin(), names_.end()};
  taken_.insert(kernel_name_);
  for (const auto& [name, dtype] : scratch_) taken_.insert(name);
  depth_ = 1;
}

std::string DeviceWriter::OpenThreads(const std::string& hint, std::int64_t count) {
  const std::string at = Fresh(hint);
  Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<int>(threadIdx.x);", index_type_,
                   at, threads_));
  if (count % threads_ != 0) Line(fmt::format("if ({} >= {}) return;", at, count));
  return at;
}

std::string DeviceWriter::WithoutNames(const std::string& definition, std::vector<std::string> names) const {
  names.insert(names.end(), fresh_.begin(), fresh_.end());
  std::map<std::string_view, std::size_t> numbers;
  for (const auto& name : names) numbers.emplace(name, numbers.size());
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string text;
  for (std::size_t at = 0; at < definition.size();) {
    std::size_t end = at;
    while (end < definition.size() && in_name(definition[end])) ++end;
    const std::string_view word = std::string_view(definition).substr(at, end - at);
    // A member keeps its name: one that is called as a variable is another thing.
    const auto number = at > 0 && definition[at - 1] == '.' ? numbers.end() : numbers.find(word);
    if (number != numbers.end()) {
      text += fmt::format("${}", number->second);
    } else {
      text += word;
    }
    if (end < definition.size()) text += definition[end++];
    at = end;
  }
  return text;
}

void DeviceWriter::Await() {
  awaits_ = true;
  if (program_.device->has.early_launch) Line(Helper("AwaitEarlier") + "();");
}

void DeviceWriter::Launch(const LaunchShape& shape) {
  if (!std::exchange(awaits_, false) && program_.device->has.early_launch)
    text_.insert(0, fmt::format("  {}();\n", Helper("AwaitEarlier")));
  LaunchStep step;
  step.grid = {shape.grid_x, shape.grid_y, shape.grid_z};
  step.block = {threads_, 1, 1};
  step.cluster = {shape.cluster_x, 1, 1};
  step.shared_bytes = shape.shared_bytes;
  step.together = shape.together;
  KernelText kernel{.comment = comment_, .name = kernel_name_, .bounds = {}, .parameters = {}, .body = {}};
  StepUse use{.reads = {},
              .writes = {},
              .known = true,
              .aside = shape.aside && shape.cluster_x == 1,
              .static_shared_bytes = shape.static_shared_bytes};
  std::vector<std::string> names;
  // Whoever reads an input counts as a reader of what is written into it later: that one does not pass.
  const auto note_read = [&](const std::string& name) {
    use.reads.insert(name);
    for (const KernelBuffer& buffer : program_.buffers) {
      if (buffer.updates >= 0 && program_.buffers[static_cast<std::size_t>(buffer.updates)].name == name)
        use.reads.insert(buffer.name);
    }
  };
  for (const auto& [name, map] : shape.maps) {
    kernel.parameters.emplace_back("const __grid_constant__ TensorMap", name);
    names.push_back(name);
    if (shape.writes_maps && &map == &shape.maps.back().second) {
      use.writes.insert(map.buffer);
    } else {
      note_read(map.buffer);
    }
    step.arguments.emplace_back(map);
  }
  const auto add = [&](const std::string& buffer, const std::string& name, DType dtype, bool constant) {
    kernel.parameters.emplace_back(fmt::format("{}{}* __restrict__", constant ? "const " : "", DeviceType(dtype)),
                                   name);
    names.push_back(name);
    if (constant) {
      note_read(buffer);
    } else {
      use.writes.insert(buffer);
    }
    step.arguments.emplace_back(BufferArgument{buffer, 0});
  };
  std::set<int> seen(shape.writes.begin(), shape.writes.end());
  for (const int buffer : shape.reads) {
    const KernelBuffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    if (seen.insert(buffer).second) add(b.name, BufferName(buffer), b.dtype, true);
  }
  for (const auto& name : shape.scratch_reads) add(name, name, scratch_.at(name), true);
  for (const int buffer : shape.writes) {
    const KernelBuffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    add(b.name, BufferName(buffer), b.dtype, false);
  }
  for (const auto& name : shape.scratch_writes) add(name, name, scratch_.at(name), false);
  kernel.bounds =
      fmt::format("{}{}", threads_, blocks_a_processor_ > 0 ? fmt::format(", {}", blocks_a_processor_) : "");
  std::string definition;
  for (const auto& [type, name] : kernel.parameters) definition += fmt::format("{} {}, ", type, name);
  const auto [same, is_new] = same_text_.emplace(
      WithoutNames(fmt::format("{}) {}\n{}", definition, kernel.bounds, text_), std::move(names)), kernel_name_);
  step.kernel = same->second;
  if (is_new) {
    kernel.body = text_;
    kernels_.push_back(std::move(kernel));
  } else {
    kernel_names_.erase(kernel_name_);
  }
  text_.clear();
  depth_ = 0;
  const bool prepare = shape.prepare || IsOnce();
  (prepare ? plan_.prepare : plan_.steps).emplace_back(std::move(step));
  if (!prepare) uses_.push_back(std::move(use));
}

bool DeviceWriter::IsOnce() const { return kernel_->attributes.contains(kPrepared); }

void DeviceWriter::Call(PlanStep step, bool prepare) {
  prepare = prepare || IsOnce();
  (prepare ? plan_.prepare : plan_.steps).push_back(std::move(step));
  if (!prepare) uses_.emplace_back();
}

std::string DeviceWriter::Workspace(std::int64_t bytes) {
  if (workspace_.empty()) workspace_ = Scratch("workspace", DType::kU8, bytes);
  for (PlanBuffer& buffer : plan_.buffers) {
    if (buffer.name == workspace_) buffer.shape[0] = std::max(buffer.shape[0], bytes);
  }
  return workspace_;
}

Plan DeviceWriter::Finish() {
  plan_.arch = program_.device->arch;
  const std::string functions = JoinLaunches(plan_.steps, uses_, kernels_, *program_.device);
  if (kernels_.empty() && !plan_.steps.empty()) return std::move(plan_);  // libraries alone
  std::string text = fmt::format("// {}: made from a program of the kernel language.\n", program_.name);
  std::set<std::string_view> headers;
  const auto declare = [&](const auto& buffers) {
    for (const auto& buffer : buffers) {
      if (IsHalf(buffer.dtype)) {  // helpers are written for both
        headers.insert({RowOf(DType::kF16).cuda_header, RowOf(DType::kBF16).cuda_header});
      } else if (!RowOf(buffer.dtype).cuda_header.empty()) {
        headers.insert(RowOf(buffer.dtype).cuda_header);
      }
    }
  };
  declare(program_.buffers);
  declare(plan_.buffers);
  for (const auto header : headers) text += fmt::format("#include <{}>\n", header);
  if (headers.contains(RowOf(DType::kF8E4M3).cuda_header)) head_.insert(head_.begin(), std::string(kRoundedText));
  text += "\n";
  if (!head_.empty()) {
    text += "namespace {\n\n";
    for (const auto& helper : head_) text += helper + "\n";
    text += "}  // namespace\n\n";
  }
  text += functions;
  // Those whose launches have all joined others are functions of these alone.
  for (const KernelText& kernel : kernels_) {
    const auto launches = [&](const PlanStep& step) {
      const auto* launch = std::get_if<LaunchStep>(&step);
      return launch != nullptr && launch->kernel == kernel.name;
    };
    if (std::any_of(plan_.steps.begin(), plan_.steps.end(), launches) ||
        std::any_of(plan_.prepare.begin(), plan_.prepare.end(), launches))
      text += TextOf(kernel);
  }
  plan_.sources.push_back({"program.cu", std::move(text), {"-default-device"}, true});
  return std::move(plan_);
}

}  // namespace hone::dsl
