#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  // A reader that went away (a pager, a worker that died) is an error of write(), not our end.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return hone::RunCommandLine(arguments);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "hone: a bug in hone: %s. Please report it with the command that you ran.\n",
                 exception.what());
    return 3;
  }
}
