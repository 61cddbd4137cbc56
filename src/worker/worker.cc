#include "worker/worker.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "protocol/protocol.h"

namespace hone {
namespace {

std::string ReadSetup() {
  std::string line;
  char buffer[65536];
  while (line.find('\n') == std::string::npos) {
    const auto got = read(0, buffer, sizeof buffer);
    if (got <= 0) break;
    line.append(buffer, static_cast<std::size_t>(got));
  }
  return line;
}

}  // namespace

int WorkerMain() {
  auto setup = ParseWorkerSetup(ReadSetup());
  if (!setup) {
    std::fprintf(stderr, "hone worker is started by hone itself (%s)\n", setup.error().message.c_str());
    return 2;
  }
  close(0);
  dup2(2, 1);  // what the candidate prints is kept beside what it complains of
  switch (setup->form) {
    case Form::kPlan: return PlanWorkerMain(std::move(*setup));
    case Form::kCudaModule: return CudaModuleWorkerMain(std::move(*setup));
    case Form::kModule: break;
  }
  return HostModuleWorkerMain(std::move(*setup));
}

}  // namespace hone
