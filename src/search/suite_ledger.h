// What a suite has done: one line of JSON a helping, each on the disk before the next begins. A kill -9 loses the
// helping in flight, whose attempts the run store has; a line that a power cut tore is not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

// So many attempts at one problem, and what they came to.
struct Helping {
  std::string problem;   // SuiteProblem::key
  int number = 0;        // 1, 2 ... of this problem
  int attempts = 0;      // of the problem, with those of earlier helpings
  double before_us = 0;  // the fastest before it; of the first helping, the first attempt that was accepted; 0 = none
  double best_us = 0;    // the fastest after it, 0 = none
  double bound_us = 0;   // 0 = not known
  double seconds = 0;    // that it took, all sessions together
  double run_s = 0;      // of the problem's run so far, as its time limit counts them
  std::int64_t tokens = 0;   // that language models took of its run, over all helpings
  double dollars = 0;        // what that cost, as far as it is known
  bool withheld = false;     // more attempts need more of these than it might take
  bool ended = false;        // more attempts would bring nothing: at the bound, or nothing is left to try
  bool won = false;          // faster than its baseline, confirmed
  std::string failure;       // why there is no result, one line; empty: there is one
  std::string run;           // in the store; empty where there is none
  std::string device;        // that it was made on, where the suite was given several; else empty
  std::string document;      // JSON: what is told of the problem; the table's rows are made of the latest
  bool interrupted = false;  // it did not come to its end: never in the ledger, the same helping is made again
};

class SuiteLedger {
 public:
  // Makes the file and its folder if need be, and holds it: kUsage while another process does. kCorrupt names the line
  // that cannot be read; kIo.
  static Result<SuiteLedger> Open(const std::string& path);
  // What it has by now, whoever works on it. kNotFound, kCorrupt.
  static Result<std::vector<Helping>> Read(const std::string& path);
  SuiteLedger(SuiteLedger&& other) noexcept;
  SuiteLedger& operator=(SuiteLedger&&) = delete;
  ~SuiteLedger();

  const std::vector<Helping>& helpings() const { return helpings_; }  // in the order of their ends
  // On the disk when it returns.
  Result<void> Add(Helping helping);

 private:
  SuiteLedger(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Result<void> Load();
  std::string path_;
  int file_ = -1;
  std::vector<Helping> helpings_;
};

}  // namespace hone
