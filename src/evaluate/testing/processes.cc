// The program that tests give to an evaluator: it can be a judge and a worker, as hone can.
#include <cstdio>
#include <cstring>

#include "judge/judge_main.h"
#include "target/cuda/nvrtc.h"
#include "worker/sanitized.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "judge") == 0) return hone::JudgeMain();
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return hone::WorkerMain();
  if (argc == 2 && std::strcmp(argv[1], "sanitized") == 0) return hone::SanitizedMain();
  if (argc == 2 && std::strcmp(argv[1], "nvrtc") == 0) return hone::cuda::NvrtcMain();
  std::fputs("usage: evaluate_processes judge|worker|sanitized|nvrtc\n", stderr);
  return 2;
}
