#include "worker/sanitized.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "base/files.h"
#include "problem/problem.h"
#include "protocol/sanitized_setup.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"
#include "target/cuda/try.h"
#include "worker/loaded_module.h"
#include "worker/placed_call.h"
#include "worker/placed_tensors.h"

namespace hone {
namespace {

Result<void> RunPlan(cuda::Context& context, const std::string& built, const std::vector<Placed>& placed) {
  const auto bytes = HONE_TRY(ReadFile(built));
  const auto unpacked = HONE_TRY(cuda::Unpack(bytes));
  const auto plan = HONE_TRY(FromDevice(cuda::LoadedPlan::Load(context, unpacked)));
  OpenGaps(context, placed);
  HONE_TRY(FromDevice(plan->Prepare(BindingsOf(placed, true))));
  const int bound = HONE_TRY(FromDevice(plan->Bind(BindingsOf(placed, false))));
  HONE_TRY(FromDevice(plan->Run(bound)));
  return FromDevice(context.WaitAll());
}

Result<void> RunModule(cuda::Context& context, const std::string& built, const std::vector<Placed>& placed) {
  PlacedCall placed_call(placed, context.stream());
  HoneCall& call = placed_call.call;
  LoadedModule module;
  const Reply reply = LoadedModule::Guarded({}, [&](Reply& said) {
    if (!module.Load(built, said)) return;
    OpenGaps(context, placed);
    if (!module.Prepare(call, said)) return;
    call.state = module.state();
    module.Run(call, said);
  });
  if (reply.said != Said::kDone) return Fail(ErrorKind::kTool, std::string("the module failed: ") + reply.text);
  return FromDevice(context.WaitAll());
}

Result<void> RunOnce(const SanitizedSetup& setup) {
  Problem problem = HONE_TRY(ParseProblem(setup.problem, "the problem"));
  problem.folder = setup.folder;
  const auto context = HONE_TRY(FromDevice(cuda::Context::Open(0)));
  const auto placed = HONE_TRY(PlaceTensors(*context, problem));
  return setup.form == Form::kPlan ? RunPlan(*context, setup.built, placed) : RunModule(*context, setup.built, placed);
}

}  // namespace

int SanitizedMain() {
  std::string line;
  std::getline(std::cin, line);
  const auto setup =
      FromRecord<SanitizedSetup>(nlohmann::json::parse(line, nullptr, false), "what is told under compute-sanitizer");
  if (!setup) {
    std::fprintf(stderr, "hone sanitized is started by hone itself (%s)\n", setup.error().message.c_str());
    return 2;
  }
  const auto ran = RunOnce(*setup);
  if (ran) return 0;
  std::fprintf(stderr, "%s\n", ran.error().message.c_str());
  return 3;
}

}  // namespace hone
