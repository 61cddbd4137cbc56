// The program that tests give to an evaluator: it can be a judge and a worker, as hone can.
#include <cstdio>
#include <cstring>

#include "evaluate/certify.h"
#include "evaluate/judge_main.h"
#include "evaluate/worker.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "judge") == 0) return hone::JudgeMain();
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return hone::WorkerMain();
  if (argc == 2 && std::strcmp(argv[1], "sanitized") == 0) return hone::SanitizedMain();
  std::fputs("usage: evaluate_processes judge|worker|sanitized\n", stderr);
  return 2;
}
