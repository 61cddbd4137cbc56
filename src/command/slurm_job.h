// A command of ours as a job of an existing Slurm: sbatch, squeue, scancel, and files in a folder that all nodes see.
//
//   FOLDER/NAME.sh --sbatch--> FOLDER/NAME.id ... FOLDER/NAME.out, .err --> FOLDER/NAME.rc, when it has ended
//
// The files are the truth: whoever asks for the same job again finds it in the queue, or its result, and submits
// nothing. Slurm puts a job that was preempted, or whose node was lost, back into its queue (--requeue); one that left
// the queue without a result is submitted again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

// How jobs are asked for; empty: as the cluster has it.
struct SlurmOptions {
  std::string partition;           // --partition
  std::string gres;                // --gres: "gpu:1"
  std::string time;                // --time of a job: "30", "1:00:00"
  std::vector<std::string> words;  // of sbatch, after ours
};

struct SlurmEnded {
  int code = 0;            // exit status
  std::string output;      // its standard output
  std::string last_words;  // the last line on its standard error
  std::string failure;     // why there is no exit status, one line; empty: there is
};

// kNotFound, with what is missing, where no Slurm can be reached.
Result<void> FindSlurm();

// Blocks until the job has ended. `say` gets a line where its state changes. kInterrupted when this process was asked
// to stop: the job is then cancelled. Any thread, each with a name of its own.
Result<SlurmEnded> RunAsJob(const SlurmOptions& options, const std::string& folder, const std::string& name,
                            const std::vector<std::string>& argv, const std::function<void(std::string_view)>& say);

}  // namespace hone
