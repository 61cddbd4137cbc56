// A checked program as one C++ file behind include/hone/module.h: a function a kernel, and hone_run that calls them in
// order.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "dsl/cpu/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/products_apart.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kSmallFloatText;  // base/small_float.h
}

namespace hone::dsl {
namespace {

std::string FunctionName(const Writer& writer, const Kernel& kernel) {
  std::string name(kernel.family->name);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + "_" + writer.BufferName(kernel.target);
}

// The buffers that kernels of one function write and those that they only read, in the order of their first use.
std::vector<int> TargetBuffers(std::span<const Kernel> kernels) {
  std::vector<int> buffers;
  for (const auto& kernel : kernels) {
    for (const int target : TargetsOf(kernel)) buffers.push_back(target);
  }
  return buffers;
}
std::vector<int> ReadBuffers(std::span<const Kernel> kernels) {
  std::vector<int> buffers;
  const std::vector<int> targets = TargetBuffers(kernels);
  std::set<int> seen(targets.begin(), targets.end());
  for (const auto& kernel : kernels) {
    for (const auto& operand : kernel.operands) {
      if (seen.insert(operand.buffer).second) buffers.push_back(operand.buffer);
    }
  }
  return buffers;
}

// The attribute that says how wide the compiler's own vectors are to be; it prefers 32 bytes otherwise.
std::string VectorAttribute(const Kernel& kernel) {
  const auto it = kernel.settings.find("vector");
  if (it == kernel.settings.end()) return "";
  return IntSetting(kernel, "vector") == 64 ? "VECTORS_64 " : "";
}

std::string Pointer(const KernelProgram& program, int buffer, const std::string& from) {
  const KernelBuffer& b = program.buffers[static_cast<std::size_t>(buffer)];
  const bool constant = b.home == KernelBuffer::Home::kInput || b.home == KernelBuffer::Home::kParameter;
  return fmt::format("static_cast<{}{}*>({}[{}].data)", constant ? "const " : "", ElementType(b.dtype), from,
                     b.position);
}

std::string_view Home(const KernelBuffer& buffer) {
  switch (buffer.home) {
    case KernelBuffer::Home::kInput: return "call->inputs";
    case KernelBuffer::Home::kParameter: return "call->parameters";
    case KernelBuffer::Home::kOutput: return "call->outputs";
    case KernelBuffer::Home::kIntermediate: break;
  }
  return "";
}

// base/small_float.h without what makes it a header.
std::string SmallFloatText() {
  std::string text(kSmallFloatText);
  const std::string_view once = "#pragma once\n\n";
  text.erase(text.find(once), once.size());
  return text + "\n";
}

}  // namespace

std::string EmitCpu(const KernelProgram& checked) {
  const KernelProgram program = WithoutEmpty(ProductsApart(checked));
  Writer writer(program);
  std::string functions;
  std::vector<std::string> calls;
  bool vectors_64 = false;
  for (std::size_t first = 0; first < program.kernels.size();) {
    // One function a kernel, or a sequence of them.
    const std::size_t end = SequenceEnd(program, first);
    const std::span<const Kernel> run(program.kernels.data() + first, end - first);
    const Kernel& kernel = run[0];
    first = end;
    const std::size_t scratch_before = writer.scratch().size();
    writer.Begin(kernel);
    writer.Open("");  // the depth of a function's body
    kernel.way->emit_cpu(program, kernel, writer);
    writer.Close();
    std::string body = writer.Take();
    body = body.substr(body.find('\n') + 1);

    std::string parameters, arguments;
    for (const int buffer : ReadBuffers(run)) {
      const std::string& name = writer.BufferName(buffer);
      parameters += fmt::format("const {}* __restrict {}, ",
                                ElementType(program.buffers[static_cast<std::size_t>(buffer)].dtype), name);
      arguments +=
          (program.buffers[static_cast<std::size_t>(buffer)].home == KernelBuffer::Home::kIntermediate ? "scratch->"
                                                                                                       : "") +
          name + ", ";
    }
    for (const int buffer : TargetBuffers(run)) {
      const KernelBuffer& target = program.buffers[static_cast<std::size_t>(buffer)];
      const std::string& name = writer.BufferName(buffer);
      const std::string comma = buffer == kernel.target ? "" : ", ";
      parameters += fmt::format("{}{}* __restrict {}", comma, ElementType(target.dtype), name);
      arguments += comma + (target.home == KernelBuffer::Home::kIntermediate ? "scratch->" : "") + name;
    }
    for (std::size_t i = scratch_before; i < writer.scratch().size(); ++i) {
      const auto& memory = writer.scratch()[i];
      parameters += fmt::format(", {}* __restrict {}", memory.type, memory.name);
      arguments += ", scratch->" + memory.name;
    }
    if (writer.parallel()) {
      parameters += ", int threads";
      arguments += ", call->threads";
    }
    const std::string attribute = VectorAttribute(kernel);
    vectors_64 |= !attribute.empty();
    std::string signature = fmt::format("{}void {}({})", attribute, FunctionName(writer, kernel), parameters);
    std::string comment;
    for (const auto& member : run) {
      if (&member != &kernel) comment += "\n// ";
      for (const char c : member.text) comment += c == '\n' ? std::string("\n//") : std::string(1, c);
    }
    functions += writer.TakeFunctions();
    functions += fmt::format("// {}\n{} {{\n{}\n", comment, signature, body);
    calls.push_back(fmt::format("{}({});", FunctionName(writer, kernel), arguments));
  }

  bool intermediates = false;
  for (const auto& buffer : program.buffers) intermediates |= buffer.home == KernelBuffer::Home::kIntermediate;
  const bool keeps_state = intermediates || !writer.scratch().empty();

  std::string text =
      fmt::format("// {}: made from a program of the kernel language.\n#include <hone/module.h>\n", program.name);
  text += keeps_state ? "\n#include <cstdint>\n#include <cstdlib>\n" : "\n#include <cstdint>\n";
  text += "\n";
  if (vectors_64) {
    text +=
        "#if defined(__AVX512F__) && !defined(__clang__)\n"
        "#define VECTORS_64 __attribute__((target(\"prefer-vector-width=512\")))\n"
        "#else\n#define VECTORS_64\n#endif\n\n";
  }
  const bool small = std::any_of(program.buffers.begin(), program.buffers.end(),
                                 [](const KernelBuffer& buffer) { return IsSmallFloat(buffer.dtype); });
  if (small) text += SmallFloatText();
  text += writer.Head();
  text += functions;
  if (keeps_state) {
    text += "// Memory that is kept from call to call.\nstruct Scratch {\n";
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const KernelBuffer& buffer = program.buffers[i];
      if (buffer.home != KernelBuffer::Home::kIntermediate) continue;
      text += fmt::format("  {}* {} = nullptr;\n", ElementType(buffer.dtype), writer.BufferName(static_cast<int>(i)));
    }
    for (const auto& memory : writer.scratch()) text += fmt::format("  {}* {} = nullptr;\n", memory.type, memory.name);
    text +=
        "};\n\n"
        "// `count` elements at a multiple of 64 bytes; the size is rounded up as aligned_alloc wants it.\n"
        "template <class T>\nbool Allocate(T*& to, size_t count) {\n"
        "  to = static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64));\n"
        "  return to != nullptr;\n}\n\n";
  }
  text += "}  // namespace\n\nint32_t hone_abi_version(void) { return HONE_ABI_VERSION; }\n\n";
  if (keeps_state) {
    std::string allocations, releases;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const KernelBuffer& buffer = program.buffers[i];
      if (buffer.home != KernelBuffer::Home::kIntermediate) continue;
      const std::string& name = writer.BufferName(static_cast<int>(i));
      allocations += fmt::format("{}Allocate(scratch->{}, {})", allocations.empty() ? "" : " &&\n                  ",
                                 name, std::max<std::int64_t>(1, ElementCount(buffer.shape)));
      releases += fmt::format("  std::free(scratch->{});\n", name);
    }
    for (const auto& memory : writer.scratch()) {
      allocations += fmt::format("{}Allocate(scratch->{}, {})", allocations.empty() ? "" : " &&\n                  ",
                                 memory.name, memory.count);
      releases += fmt::format("  std::free(scratch->{});\n", memory.name);
    }
    std::string preparations;
    for (const auto& preparation : writer.preparations()) {
      std::string arguments;
      for (const int buffer : preparation.buffers) {
        arguments += (arguments.empty() ? "" : ", ") + Pointer(program, buffer, "call->parameters");
      }
      for (const auto& memory : preparation.scratch)
        arguments += (arguments.empty() ? "" : ", ") + ("scratch->" + memory);
      preparations +=
          fmt::format("  {}({}, call->threads > 0 ? call->threads : 1);\n", preparation.function, arguments);
    }
    text += fmt::format(
        "int32_t hone_prepare([[maybe_unused]] const HoneCall* call, void** state) {{\n"
        "  auto* scratch = new Scratch;\n  *state = scratch;\n"
        "  const bool ok = {};\n  if (!ok) return 1;\n{}  return 0;\n}}\n\n"
        "void hone_release(void* state) {{\n  auto* scratch = static_cast<Scratch*>(state);\n  if (!scratch) "
        "return;\n{}"
        "  delete scratch;\n}}\n\n",
        allocations, preparations, releases);
  }
  text += "int32_t hone_run(const HoneCall* call) {\n";
  std::set<int> used;
  for (const auto& kernel : program.kernels) {
    for (const auto& operand : kernel.operands) used.insert(operand.buffer);
    for (const int target : TargetsOf(kernel)) used.insert(target);
  }
  for (const int buffer : used) {
    const KernelBuffer& b = program.buffers[static_cast<std::size_t>(buffer)];
    if (b.home == KernelBuffer::Home::kIntermediate) continue;
    text +=
        fmt::format("  auto* {} = {};\n", writer.BufferName(buffer), Pointer(program, buffer, std::string(Home(b))));
  }
  if (keeps_state) text += "  auto* scratch = static_cast<Scratch*>(call->state);\n";
  for (const auto& call : calls) text += "  " + call + "\n";
  text += "  return 0;\n}\n";
  return text;
}

}  // namespace hone::dsl
