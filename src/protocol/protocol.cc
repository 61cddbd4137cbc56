#include "protocol/protocol.h"

#include <fmt/format.h>
#include <seccomp.h>

#include <cstdlib>

#include "base/record.h"

namespace hone {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string InHex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string FromHex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(kDigits.find(text[i]) << 4 | kDigits.find(text[i + 1]));
  return bytes;
}

// In the order of the enumeration.
constexpr std::string_view kForms[] = {"module", "plan", "cuda_module"};

}  // namespace

std::string_view Name(Form form) { return kForms[static_cast<std::size_t>(form)]; }

std::optional<Form> ParseForm(std::string_view name) { return ParseName<Form>(kForms, name); }

template <SameAs<Place> Of>
void Fields(Of& place, auto&& field) {
  field("offset", place.offset);
  field("total", place.total);
  field("data", place.data);
  field("bytes", place.bytes);
}

// What a worker is told of a tensor: it draws none of its elements.
template <SameAs<Tensor> Of>
void Fields(Of& tensor, auto&& field) {
  field("name", tensor.name);
  field("shape", tensor.shape);
  field("dtype", tensor.dtype, ByName<DType>{Name, ParseDType});
  field("updates", tensor.updates);
}

// But its kernels, which are no text.
template <SameAs<WorkerSetup> Of>
void Fields(Of& setup, auto&& field) {
  field("form", setup.form, ByName<Form>{Name, ParseForm});
  field("library", setup.library);
  field("threads", setup.threads);
  field("views", setup.views);
  field("input_bytes", setup.input_bytes);
  field("output_bytes", setup.output_bytes);
  field("allowance_bytes", setup.allowance_bytes);
  field("cpu_seconds", setup.cpu_seconds);
  field("flush_bytes", setup.flush_bytes);
  field("inputs", setup.inputs);
  field("parameters", setup.parameters);
  field("outputs", setup.outputs);
  field("input_slots", setup.input_slots);
  field("output_slots", setup.output_slots);
  field("parameter_places", setup.parameter_places);
}

std::optional<std::size_t> UpdateOf(const WorkerSetup& setup, std::size_t input) {
  for (std::size_t o = 0; o < setup.outputs.size(); ++o) {
    if (setup.outputs[o].updates == setup.inputs[input].name) return o;
  }
  return std::nullopt;
}

std::optional<std::size_t> UpdatedBy(const WorkerSetup& setup, std::size_t output) {
  for (std::size_t i = 0; i < setup.inputs.size(); ++i) {
    if (setup.outputs[output].updates == setup.inputs[i].name) return i;
  }
  return std::nullopt;
}

std::string ToJson(const WorkerSetup& setup) {
  auto record = ToRecord(setup);
  record["kernels"] = InHex(setup.kernels);
  return record.dump();
}

Result<WorkerSetup> ParseWorkerSetup(const std::string& line) {
  const auto record = nlohmann::json::parse(line, nullptr, false);
  auto setup = HONE_TRY(FromRecord<WorkerSetup>(record, "a worker's setup"));
  setup.kernels = FromHex(record.value("kernels", ""));
  return setup;
}

std::string SystemCallName(int number) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string text = name ? name : fmt::format("system call {}", number);
  std::free(name);
  return text;
}

}  // namespace hone
