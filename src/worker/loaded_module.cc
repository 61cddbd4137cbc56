#include "worker/loaded_module.h"

#include <dlfcn.h>

#include <cstring>
#include <exception>
#include <new>

#include "worker/sandbox.h"

namespace hone {
namespace {

DLDataType ToDlpack(DType dtype) {
  return {static_cast<std::uint8_t>(RowOf(dtype).dlpack), static_cast<std::uint8_t>(8 * Bytes(dtype)), 1};
}

}  // namespace

void Say(Reply& reply, Said said, const char* text) {
  reply.said = said;
  std::strncpy(reply.text, text, sizeof reply.text - 1);
}

DLTensor ViewOf(const Tensor& tensor, void* data, DLDeviceType device) {
  DLTensor view{};
  view.data = data;
  view.device = {device, 0};
  view.ndim = static_cast<int>(tensor.shape.size());
  view.dtype = ToDlpack(tensor.dtype);
  view.shape = const_cast<std::int64_t*>(tensor.shape.data());
  return view;
}

Reply LoadedModule::Guarded(const Request& request, const std::function<void(Reply&)>& answer) {
  Reply reply;
  SetReportNonce(request.nonce);
  try {
    answer(reply);
  } catch (const std::bad_alloc&) {
    reply.said = Said::kNoMemory;
  } catch (const std::exception& error) {
    Say(reply, Said::kThrew, error.what());
  } catch (...) {
    Say(reply, Said::kThrew, "something that is not a std::exception");
  }
  reply.nonce = request.nonce;
  return reply;
}

bool LoadedModule::Load(const std::string& path, Reply& reply) {
  const auto invalid = [&](const char* why) {
    Say(reply, Said::kInvalid, why);
    return false;
  };
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return invalid(dlerror());
  const auto version = reinterpret_cast<decltype(&hone_abi_version)>(dlsym(library, "hone_abi_version"));
  run_ = reinterpret_cast<decltype(run_)>(dlsym(library, "hone_run"));
  prepare_ = reinterpret_cast<decltype(prepare_)>(dlsym(library, "hone_prepare"));
  release_ = reinterpret_cast<decltype(release_)>(dlsym(library, "hone_release"));
  if (!version) return invalid("it does not export hone_abi_version (extern \"C\", HONE_EXPORT)");
  if (!run_) return invalid("it does not export hone_run (extern \"C\", HONE_EXPORT)");
  if ((prepare_ == nullptr) != (release_ == nullptr))
    return invalid("hone_prepare and hone_release come together or not at all");
  if (const auto found = version(); found != HONE_ABI_VERSION) {
    const auto text = "hone_abi_version() is " + std::to_string(found) + ", not " + std::to_string(HONE_ABI_VERSION);
    return invalid(text.c_str());
  }
  return true;
}

bool LoadedModule::Prepare(HoneCall call, Reply& reply) {
  if (!prepare_) return true;
  call.inputs = nullptr;
  call.outputs = nullptr;
  call.input_count = call.output_count = 0;
  const auto status = prepare_(&call, &state_);
  if (status == 0) return true;
  reply.code = status;
  Say(reply, Said::kReturned, "hone_prepare");
  return false;
}

void LoadedModule::Release() {
  if (release_) release_(state_);
  state_ = nullptr;
}

}  // namespace hone
