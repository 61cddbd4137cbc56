#include "command/target.h"

#include <fmt/format.h>

#include "target/cuda/device_machine.h"

namespace hone {

Result<bool> WantsCuda(VerbCall& call) {
  const std::string target = call.Text("target");
  if (target != "cpu" && target != "cuda")
    return Fail(ErrorKind::kUsage, fmt::format("--target {}: it is cpu or cuda", target));
  return target == "cuda";
}

Result<Machine> KnownMachine(VerbCall& call) { return KnownMachine(HONE_TRY(WantsCuda(call))); }

Result<Machine> KnownMachine(bool cuda) {
  Machine described = DescribeMachine();
  if (cuda) described = cuda::DescribeDevice().value_or(cuda::TypicalDevice());
  auto kept = LoadCalibration(described);
  if (!kept && kept.error().kind != ErrorKind::kNotFound) return kept;
  return kept ? std::move(kept) : Result<Machine>(std::move(described));
}

}  // namespace hone
