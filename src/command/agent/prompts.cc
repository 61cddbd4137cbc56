// What a person can begin a conversation with.
#include "command/agent/surface.h"

namespace hone {

std::vector<mcp::Prompt> AgentPrompts() {
  return {
      {.name = "optimize_problem",
       .description = "Let hone search for a faster kernel, and export what it proved",
       .arguments = {{"problem", "a .py file or a problem.json in the server's folder"}},
       .text =
           "Make {problem} faster with hone. First call graph on it and say what limits it: the bound, and whether it "
           "is flagged. Then start_run with the verb optimize, and ask run_status until it has ended. From "
           "run_report say what the best attempt is, over which baseline, and whether it was confirmed; where it was "
           "not, or nothing was faster, say so and stop. Else export the run and say where the files are."},
      {.name = "write_kernel",
       .description = "Write a kernel of your own for a problem, and have it judged until it is right and fast",
       .arguments = {{"problem", "a problem.json or a .py file in the server's folder"}},
       .text =
           "Write a kernel for {problem} with hone. Read the page agents, and the page language for programs of the "
           "kernel language. Call graph on the problem for its bound. Begin with a file that new makes, write the "
           "kernel with put_file, and call evaluate on it. Where it is refused, mend what the evidence says; where "
           "it is accepted, call diagnose on it and act on the finding that promises most. Stop when it is near the "
           "bound or three changes in a row brought nothing, and report each version's verdict and time."},
      {.name = "read_run",
       .description = "Say what a run tried, what came of it, and what is left",
       .arguments = {{"run", "the run's id, or its first digits; runs lists them"}},
       .text =
           "Call show on the run {run} and say: what the problem is, how far its best attempt is from the bound, which "
           "moves brought most, why attempts were refused, and what limits the best one by its findings. Give times "
           "with their baselines, and say what was not confirmed."},
      {.name = "export_winner",
       .description = "Take a run's winner into a project, with its proof",
       .arguments = {{"run", "the run's id, or its first digits"}, {"folder", "where the files shall be"}},
       .text =
           "Export the best attempt of the run {run} into {folder} with hone. First call show on it and make sure that "
           "it was confirmed; else say so and stop. Then read the exported files with list_files and get_file, and "
           "say how a project uses them and how verify.py checks them without hone."},
  };
}

}  // namespace hone
