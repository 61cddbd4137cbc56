#include "protocol/protocol.h"

#include <fmt/format.h>
#include <seccomp.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hone {
namespace {

using nlohmann::json;

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

json ToJson(const std::vector<Place>& places) {
  json out = json::array();
  for (const Place& place : places) out.push_back({place.offset, place.total, place.data, place.bytes});
  return out;
}

std::vector<Place> ReadPlaces(const json& from) {
  std::vector<Place> places;
  for (const json& one : from) places.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  return places;
}

json ToJson(const std::vector<Tensor>& tensors) {
  json out = json::array();
  for (const Tensor& tensor : tensors)
    out.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"dtype", Name(tensor.dtype)}});
  return out;
}

std::vector<Tensor> ReadTensors(const json& from) {
  std::vector<Tensor> tensors;
  for (const json& one : from) {
    Tensor tensor;
    tensor.name = one.at("name");
    tensor.shape = one.at("shape").get<Shape>();
    tensor.dtype = ParseDType(one.at("dtype").get_ref<const std::string&>()).value_or(DType::kF32);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

json ToJson(const std::vector<std::vector<Place>>& slots) {
  json out = json::array();
  for (const auto& slot : slots) out.push_back(ToJson(slot));
  return out;
}

}  // namespace

std::string ToJson(const WorkerSetup& setup) {
  return json{{"form", setup.form},
              {"library", setup.library},
              {"kernels", InHex(setup.kernels)},
              {"threads", setup.threads},
              {"views", setup.views},
              {"input_bytes", setup.input_bytes},
              {"output_bytes", setup.output_bytes},
              {"allowance_bytes", setup.allowance_bytes},
              {"cpu_seconds", setup.cpu_seconds},
              {"flush_bytes", setup.flush_bytes},
              {"inputs", ToJson(setup.inputs)},
              {"parameters", ToJson(setup.parameters)},
              {"outputs", ToJson(setup.outputs)},
              {"input_slots", ToJson(setup.input_slots)},
              {"output_slots", ToJson(setup.output_slots)},
              {"parameter_places", ToJson(setup.parameter_places)}}
      .dump();
}

Result<WorkerSetup> ParseWorkerSetup(const std::string& line) {
  try {
    const json from = json::parse(line);
    WorkerSetup setup;
    setup.form = from.at("form");
    setup.library = from.at("library");
    setup.kernels = FromHex(from.at("kernels").get<std::string>());
    setup.threads = from.at("threads");
    setup.views = from.at("views");
    setup.input_bytes = from.at("input_bytes");
    setup.output_bytes = from.at("output_bytes");
    setup.allowance_bytes = from.at("allowance_bytes");
    setup.cpu_seconds = from.at("cpu_seconds");
    setup.flush_bytes = from.at("flush_bytes");
    setup.inputs = ReadTensors(from.at("inputs"));
    setup.parameters = ReadTensors(from.at("parameters"));
    setup.outputs = ReadTensors(from.at("outputs"));
    for (const json& slot : from.at("input_slots")) setup.input_slots.push_back(ReadPlaces(slot));
    for (const json& slot : from.at("output_slots")) setup.output_slots.push_back(ReadPlaces(slot));
    setup.parameter_places = ReadPlaces(from.at("parameter_places"));
    return setup;
  } catch (const json::exception& error) {
    return Fail(ErrorKind::kCorrupt, std::string("not a worker's setup: ") + error.what());
  }
}

std::string SystemCallName(int number) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string text = name ? name : fmt::format("system call {}", number);
  std::free(name);
  return text;
}

}  // namespace hone
