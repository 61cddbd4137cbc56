// A suite on several devices that replay recorded costs (docs/measured/search): how much sooner it is done, that
// problems stay where they began, and that the time is that of all together.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "base/testing/must.h"
#include "search/recorded.h"
#include "search/suite.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::Must;

constexpr int kAttempts = 40, kHelping = 8;

// Each problem is a recorded table; an attempt takes `of_recorded` of the time that it took when it was measured.
// Nobody goes on before `at_least` devices have begun.
class RecordedDevices {
 public:
  explicit RecordedDevices(double of_recorded, std::size_t at_least = 1)
      : of_recorded_(of_recorded), at_least_(at_least) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(std::string(std::getenv("HONE_SOURCE")) + "/docs/measured/search"))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const SpaceTable table = Must(ReadTable(Must(ReadFile(file.string())), file.string()));
      const std::string name = file.stem().string();
      traces_[name] = Must(SearchTable(table, "greedy", 1, {.attempts = kAttempts, .headroom = -1}));
      bounds_us_[name] = table.head.bound_us;
      problems.push_back({.key = name, .name = name, .group = "recorded", .path = file.string()});
    }
  }

  Result<Helping> operator()(const SuiteProblem& problem, const Portion& portion) {
    const std::vector<TracePoint>& points = traces_.at(problem.key).points;
    const std::size_t from = portion.last ? static_cast<std::size_t>(portion.last->attempts) : 0;
    const std::size_t to = std::min(points.size(), static_cast<std::size_t>(portion.attempts));
    const auto seconds_at = [&](std::size_t attempts) { return attempts > 0 ? points[attempts - 1].seconds : 0; };
    Helping helping;
    helping.attempts = static_cast<int>(to);
    helping.before_us = portion.last ? portion.last->best_us : points.front().best_us;
    helping.best_us = points[to - 1].best_us;
    helping.bound_us = bounds_us_.at(problem.key);
    helping.seconds = seconds_at(to) - seconds_at(from);
    helping.ended = to == points.size();
    {
      const MutexLock lock(mutex_);
      EXPECT_FALSE(at_work_[portion.lane]) << "a device measures one thing at a time";
      at_work_[portion.lane] = true;
      devices[problem.key].push_back(portion.device);
      begun_.insert(portion.device);
    }
    while (!HaveBegun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::duration<double>(of_recorded_ * helping.seconds));
    const MutexLock lock(mutex_);
    at_work_[portion.lane] = false;
    return helping;
  }

  std::vector<SuiteProblem> problems;
  std::map<std::string, std::vector<std::string>> devices;  // of each problem's helpings

 private:
  bool HaveBegun() {
    const MutexLock lock(mutex_);
    return begun_.size() >= at_least_;
  }

  const double of_recorded_;
  const std::size_t at_least_;
  std::set<std::string> begun_;
  std::map<std::string, Trace> traces_;
  std::map<std::string, double> bounds_us_;
  Mutex mutex_;
  std::map<int, bool> at_work_;
};

// In memory where that is one: what a busy disk takes for the ledger is not what is timed.
TempDirectory MemoryFolder() {
  const char* before = std::getenv("TMPDIR");
  const std::string usual = before != nullptr ? before : "/tmp";
  if (fs::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);
  TempDirectory folder = Must(TempDirectory::Create("devices"));
  setenv("TMPDIR", usual.c_str(), 1);
  return folder;
}

class SuiteDevicesTest : public ::testing::Test {
 protected:
  SuiteOutcome Run(RecordedDevices& made, const std::vector<std::string>& lanes, const std::string& ledger_name,
                   double seconds = 0) {
    SuiteLedger ledger = Must(SuiteLedger::Open(folder_.path() + "/" + ledger_name));
    return Must(
        RunSuite(made.problems, ledger, {.attempts = kAttempts, .helping = kHelping, .seconds = seconds},
                 [&made](const SuiteProblem& problem, const Portion& portion) { return made(problem, portion); },
                 {.lanes = lanes}));
  }
  const TempDirectory folder_ = MemoryFolder();
};

TEST_F(SuiteDevicesTest, FourDevicesAreDoneMoreThanThreeTimesAsSoonAsOne) {
  RecordedDevices made(1.0 / 500);
  ASSERT_GE(made.problems.size(), 30u);
  int ledgers = 0;
  const auto seconds = [&](const std::vector<std::string>& lanes, SuiteOutcome& outcome) {
    const auto begun = std::chrono::steady_clock::now();
    outcome = Run(made, lanes, std::to_string(++ledgers));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  SuiteOutcome one, four;
  const double one_s = seconds({"a"}, one);
  double four_s = seconds({"a", "b", "c", "d"}, four);
  // A busy machine wakes sleepers late.
  for (int again = 0; again < 3 && one_s / four_s < 3.2; ++again) {
    SuiteOutcome same;
    four_s = std::min(four_s, seconds({"a", "b", "c", "d"}, same));
  }
  RecordProperty("one_device_s", std::to_string(one_s));
  RecordProperty("four_devices_s", std::to_string(four_s));
  RecordProperty("recorded_s", std::to_string(one.seconds));
  EXPECT_GE(one_s / four_s, 3.2) << one_s << " s on one device, " << four_s << " s on four";
  EXPECT_NEAR(one.seconds, four.seconds, 1e-6) << "the same attempts";
  EXPECT_EQ(one.stop, four.stop);
  EXPECT_TRUE(four.complete);
  for (std::size_t i = 0; i < one.standings.size(); ++i) {
    EXPECT_EQ(one.standings[i].last->best_us, four.standings[i].last->best_us);
    EXPECT_EQ(one.standings[i].last->attempts, four.standings[i].last->attempts);
  }
}

TEST_F(SuiteDevicesTest, AProblemStaysOnItsDeviceWhileThatIsHere) {
  RecordedDevices made(0, 2);
  const SuiteOutcome begun = Run(made, {"a", "b"}, "ledger", 1000);
  std::map<std::string, std::string> homes;
  for (const auto& [problem, devices] : made.devices) {
    EXPECT_EQ(std::count(devices.begin(), devices.end(), devices.front()), std::ssize(devices)) << problem;
    homes[problem] = devices.front();
  }
  // How many each device has is for the machine to say; the one of an unfinished problem goes.
  std::string gone, stays;
  for (const Standing& standing : begun.standings) {
    if (!standing.last || standing.last->ended || standing.last->attempts >= kAttempts) continue;
    gone = homes.at(standing.problem.key);
    stays = gone == "a" ? "b" : "a";
  }
  ASSERT_FALSE(gone.empty());
  made.devices.clear();
  const SuiteOutcome rest = Run(made, {"c", stays}, "ledger");
  EXPECT_TRUE(rest.complete);
  int moved = 0;
  for (const auto& [problem, devices] : made.devices) {
    EXPECT_TRUE(homes[problem] != stays || devices.front() == stays) << problem;
    if (homes[problem] == gone) ++moved;
    EXPECT_EQ(std::count(devices.begin(), devices.end(), devices.front()), std::ssize(devices)) << problem;
  }
  EXPECT_GT(moved, 0) << "whose device has gone goes on elsewhere";
}

// Who measures among them is for the device's lock to say.
TEST_F(SuiteDevicesTest, ADeviceMayHaveSeveralLanes) {
  RecordedDevices made(0, 2);
  const SuiteOutcome four = Run(made, {"a", "a", "b", "b"}, "ledger");
  EXPECT_TRUE(four.complete);
  for (const auto& [problem, devices] : made.devices)
    EXPECT_EQ(std::count(devices.begin(), devices.end(), devices.front()), std::ssize(devices)) << problem;
  RecordedDevices again(0);
  const SuiteOutcome one = Run(again, {"a"}, "other");
  for (std::size_t i = 0; i < one.standings.size(); ++i) {
    EXPECT_EQ(one.standings[i].last->best_us, four.standings[i].last->best_us);
    EXPECT_EQ(one.standings[i].last->attempts, four.standings[i].last->attempts);
  }
  EXPECT_NEAR(one.seconds, four.seconds, 1e-6);
}

TEST_F(SuiteDevicesTest, TheTimeIsThatOfAllDevicesTogether) {
  RecordedDevices made(1.0 / 10'000);
  const SuiteOutcome part = Run(made, {"a", "b", "c", "d"}, "ledger", 900);
  EXPECT_EQ(part.stop, "the 900 s are spent");
  EXPECT_GE(part.seconds, 900);
  EXPECT_LT(part.seconds, 1100) << "these devices do not end a helping in time, but none more is begun";
  EXPECT_EQ(Run(made, {"a"}, "ledger", 900).stop, part.stop) << "over all sessions";
}

}  // namespace
}  // namespace hone
