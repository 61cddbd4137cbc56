#include "judge/race.h"

#include <gtest/gtest.h>

#include <memory>

#include "judge/outside_baseline.h"

namespace hone {
namespace {

// Of a process of its own.
class Busy : public Participant {
 public:
  Result<Taken> Sample(std::chrono::microseconds, int) override { return Taken(Turn{.warm_us = {1}}); }
  std::uint64_t ProcessorNanoseconds() const override { return 2'000'000'000; }
};

class SharingBusy : public Busy {
 public:
  explicit SharingBusy(const void* processes) : processes_(processes) {}
  const void* processes() const override { return processes_; }

 private:
  const void* processes_;
};

// eager and compile are two modes of one program. Its time counted twice hid others' work, and a confirmation said that
// the machine was quiet while PyTorch waited 15 ms in each call for a processor.
TEST(RaceTest, AProcessThatSeveralShareIsCountedOnce) {
  const int process = 0;
  Busy candidate;
  SharingBusy eager(&process), compile(&process);
  const std::vector<Series> series{{.participant = &candidate}, {.participant = &eager}, {.participant = &compile}};
  EXPECT_DOUBLE_EQ(UsedSeconds(series), 4);
}

std::shared_ptr<OutsideProcess> Answering(const std::string& script) {
  auto process = OutsideProcess::Start({.name = "script",
                                        .mode = {},
                                        .argv = {"/bin/sh", "-c", script},
                                        .environment = {"PATH=/usr/bin:/bin"},
                                        .directory = {}},
                                       false, nullptr);
  return process ? *process : nullptr;
}

TEST(RaceTest, ModesOfOneProgramShareIt) {
  const auto process = Answering("while read line; do echo '{\"ns\": [1000]}'; done");
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(OutsideParticipant("eager", process).processes(), OutsideParticipant("compile", process).processes());
}

// It says how many runs it was asked for as nanoseconds, but stalls in its third turn.
TEST(RaceTest, ATurnAfterAStallIsAsLongAsOthers) {
  const auto process = Answering(R"(turn=0
while read line; do
  turn=$((turn + 1)); runs=${line##*\"runs\":}; runs=${runs%%[,\}]*}
  case $turn in
    4) echo '{"ns": [15000000, 15000000]}';;
    5) echo "{\"ns\": [100000, ${runs}000]}";;
    *) echo '{"ns": [100000, 100000]}';;
  esac
done)");
  ASSERT_NE(process, nullptr);
  OutsideParticipant participant("", process);
  constexpr std::chrono::microseconds kSlice{10'000};
  ASSERT_TRUE(participant.Sample(kSlice, 0));  // with two questions to see how long a call takes
  const auto stalled = participant.Sample(kSlice, 0);
  ASSERT_TRUE(stalled && *stalled);
  EXPECT_EQ((*stalled)->warm_us, std::vector<double>{15000});
  const auto after = participant.Sample(kSlice, 0);
  ASSERT_TRUE(after && *after);
  EXPECT_EQ((*after)->warm_us, std::vector<double>{101}) << "a hundred runs and the one that is discarded";
}

}  // namespace
}  // namespace hone
