// A module in this process: the functions of include/hone/module.h, and how they end as the answer to a question. What
// it does wrong, it does to us: this is only for workers, behind their sandbox. Not thread-safe.
#pragma once

#include <functional>
#include <string>

#include "base/dtype.h"
#include "hone/module.h"
#include "protocol/protocol.h"

namespace hone {

void Say(Reply& reply, Said said, const char* text);

class LoadedModule {
 public:
  // Of these, those that fail say so in the reply and return false. An exception of the module's goes through: Guarded.
  bool Load(const std::string& path, Reply& reply);
  bool Prepare(HoneCall call, Reply& reply);  // of whose tensors it is shown the parameters alone
  // Here and small: it is timed. The call's state is ours, state().
  bool Run(const HoneCall& call, Reply& reply) {
    const auto status = run_(&call);
    if (status == 0) return true;
    reply.code = status;
    Say(reply, Said::kReturned, "hone_run");
    return false;
  }
  void* state() const { return state_; }
  void Release();
  bool prepares() const { return prepare_ != nullptr; }

  // The reply of `answer`, or that it threw. Reports of the sandbox carry the request's nonce from then on.
  static Reply Guarded(const Request& request, const std::function<void(Reply&)>& answer);

 private:
  decltype(&hone_run) run_ = nullptr;
  decltype(&hone_prepare) prepare_ = nullptr;
  decltype(&hone_release) release_ = nullptr;
  void* state_ = nullptr;
};

// DLPack's view of a tensor whose elements lie at `data`. The shape stays the tensor's.
DLTensor ViewOf(const Tensor& tensor, void* data, DLDeviceType device);

}  // namespace hone
