#include "judge/outside_baseline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/files.h"
#include "problem/import/bridge.h"
#include "problem/import/confine.h"
#include "problem/import/python.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

// A program of a few lines of shell that is taken for somebody else's.
OutsideBaseline Script(const std::string& script, bool device = false) {
  return {.name = "script",
          .mode = {},
          .argv = {"/bin/sh", "-c", script},
          .environment = InheritedEnvironment(),
          .directory = {},
          .files = {"/bin/sh"},
          .device = device};
}
constexpr const char* kAnswers = "while read line; do echo '{\"ns\": [1000]}'; done";

Result<std::shared_ptr<OutsideProcess>> Started(const OutsideBaseline& baseline) {
  return OutsideProcess::Start(baseline, false, nullptr);
}

class OutsideBaselineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanConfine()) GTEST_SKIP() << "bubblewrap is absent or may not make a sandbox here: only limits hold a file";
    char name[] = "/var/tmp/hone_outside_XXXXXX";  // where a sandbox sees it, unlike /tmp
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(OutsideBaselineTest, TheFileMayReadAndNeitherWriteNorCallOutNorReadKeys) {
  const auto python = FindPython();
  if (!python) GTEST_SKIP() << python.error().message;
  const std::string file = folder_ + "/model.py";
  std::filesystem::create_directories(folder_ + "/.ssh");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/.ssh/id_rsa", "secret\n"));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/sibling.py", "width = 8\n"));
  ASSERT_TRUE(WriteFileAtomically(file, R"(
import os, socket, torch, sibling
def deed(what, act):
    try:
        act()
    except OSError:
        return
    raise RuntimeError(what)
here = os.path.dirname(os.path.abspath(__file__))
deed("wrote beside the file", lambda: open(here + "/written", "w"))
deed("removed a file", lambda: os.remove(here + "/sibling.py"))
deed("wrote to the home", lambda: open(os.environ["HOME"] + "/written", "w"))
deed("read a key", lambda: open(here + "/.ssh/id_rsa").read())
deed("found a way out", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9)))
if len([one for one in os.listdir("/proc") if one.isdigit()]) > 20:
    raise RuntimeError("saw other processes")
class Model(torch.nn.Module):
    def forward(self, x):
        return x * sibling.width
def get_inputs():
    return [torch.ones(4)]
)"));
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("HOME", folder_.c_str(), 1);
  const auto process =
      Started({.name = "eager",
               .mode = "eager",
               .argv = {python->path, "-I", "-c", std::string(BaselineBridge()), file, "eager", "1", "64", "cpu"},
               .environment = InheritedEnvironment(),
               .directory = {},
               .files = {file}});
  setenv("HOME", home.c_str(), 1);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_FALSE((*process)->unconfined());
  const auto times = (*process)->Ask("eager", 3, false);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us.size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/written"));
}

TEST_F(OutsideBaselineTest, AProfileIsWhatARunConsistsOf) {
  const auto python = FindPython();
  if (!python) GTEST_SKIP() << python.error().message;
  const std::string file = folder_ + "/model.py";
  ASSERT_TRUE(WriteFileAtomically(file, R"(
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.exp(torch.exp(x)) + 1
def get_inputs():
    return [torch.ones(1 << 16)]
)"));
  const auto process =
      Started({.name = "eager",
               .mode = "eager",
               .argv = {python->path, "-I", "-c", std::string(BaselineBridge()), file, "eager", "1", "64", "cpu"},
               .environment = InheritedEnvironment(),
               .directory = {},
               .files = {file}});
  ASSERT_TRUE(process) << process.error().message;
  const auto answer = (*process)->Answer({{"profile", 3}, {"mode", "eager"}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_GT(answer->at("span_us").get<double>(), 0);
  double exponentials = 0, sum_us = 0;
  for (const auto& kernel : answer->at("kernels")) {
    sum_us += kernel.at("us").get<double>();
    if (kernel.at("name") == "aten::exp") exponentials = kernel.at("calls").get<double>();
  }
  EXPECT_NEAR(exponentials, 2, 1e-9);  // of one run, not of three
  EXPECT_LE(sum_us, answer->at("span_us").get<double>() * 1.01);
}

// As a candidate's inputs are: from another core, all of them, with their values. A page of a private mapping that was
// written is dirty.
TEST_F(OutsideBaselineTest, InputsAreWrittenBeforeATimedCall) {
  const auto python = FindPython();
  if (!python) GTEST_SKIP() << python.error().message;
  const std::string file = folder_ + "/model.py";
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/values", std::string(1 << 20, '\x3f')));
  ASSERT_TRUE(WriteFileAtomically(file, R"(
import os, torch
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values")
def dirty():
    with open("/proc/self/smaps") as file:
        lines = iter(file)
        for line in lines:
            if line.rstrip().endswith("/values"):
                return next(1024 * int(l.split()[1]) for l in lines if l.startswith("Private_Dirty:"))
class Model(torch.nn.Module):
    calls = 0
    def forward(self, a, rest):
        self.calls += 1
        if self.calls == 3 and dirty() != 0:
            raise RuntimeError("somebody wrote before the first timed call")
        if self.calls > 4 and dirty() < 1 << 20:
            raise RuntimeError("%d bytes were written" % dirty())
        if not (a.view(-1).eq(a[0]).all() and rest["two"][0].eq(2).all() and rest["two"][1].eq(3).all()):
            raise RuntimeError("values have changed")
        return a + 1
def get_inputs():
    a = torch.from_file(PATH, shared=False, size=1 << 18, dtype=torch.float32)
    return [a, {"two": [torch.full((4,), 2).expand(3, 4), torch.full((5, 7), 3.0).t()], "none": None}]
def get_init_inputs():
    return []
)"));
  const auto process =
      Started({.name = "eager",
               .mode = "eager",
               .argv = {python->path, "-I", "-c", std::string(BaselineBridge()), file, "eager", "1", "64", "cpu"},
               .environment = InheritedEnvironment(),
               .directory = {},
               .files = {file}});
  ASSERT_TRUE(process) << process.error().message;
  const auto times = (*process)->Ask("eager", 3, false);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us.size(), 3u);
}

TEST_F(OutsideBaselineTest, AFileThatForksWithoutEndIsEnded) {
  const auto process = Started(Script("for i in $(seq 3000); do sleep 60 & done; wait"));
  ASSERT_TRUE(process) << process.error().message;
  const auto begin = std::chrono::steady_clock::now();
  const auto times = (*process)->Ask("", 1, false);
  ASSERT_FALSE(times);
  EXPECT_NE(times.error().message.find("started more than 256 processes and was killed"), std::string::npos)
      << times.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(OutsideBaselineTest, WhoIsStoppedStandsStillInASandboxToo) {
  const auto process = Started(Script(std::string("while :; do :; done & ") + kAnswers));
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_TRUE((*process)->Ask("", 1, false));
  const auto used = [&] { return (*process)->ProcessorNanoseconds(); };
  const auto before = used();
  for (int wait = 0; wait < 100 && used() == before; ++wait) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GT(used(), before) << "it computes until it is stopped";
  (*process)->Stop();
  std::this_thread::sleep_for(milliseconds(50));
  const auto stopped = used();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(used(), stopped);
  (*process)->Continue();
  EXPECT_TRUE((*process)->Ask("", 1, false));
}

// The driver and bubblewrap may not go together: then it runs without, and says so.
TEST_F(OutsideBaselineTest, WhereTheSandboxHasNoDeviceItRunsUnconfinedAndSaysSo) {
  const auto folder = TempDirectory::Create("device");  // in /tmp, which a sandbox does not see
  ASSERT_TRUE(folder);
  const std::string opens =
      "read open; if test -e " + folder->path() +
      "; then echo '{\"device\": true}'; else echo '{\"device\": false, \"error\": \"no driver\"}'; "
      "exit 1; fi; ";
  const auto process = Started(Script(opens + kAnswers, true));
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_TRUE((*process)->unconfined());
  EXPECT_TRUE((*process)->Ask("", 1, false));

  const auto required = OutsideProcess::Start(Script(opens + kAnswers, true), true, nullptr);
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().message,
            "its file shall not run unconfined, and bubblewrap does not work here with the device: no driver");

  const auto held = Started(Script("read open; echo '{\"device\": true}'; " + std::string(kAnswers), true));
  ASSERT_TRUE(held);
  EXPECT_FALSE((*held)->unconfined());

  const auto early = OutsideProcess::Begin(Script(opens + kAnswers, true), false, nullptr);
  ASSERT_TRUE(early) << early.error().message;
  (*early)->Expect("");
  ASSERT_TRUE((*early)->Settle());
  EXPECT_TRUE((*early)->unconfined()) << "what was asked of the one in the sandbox is asked of the other one";
  (*early)->Continue();
  EXPECT_TRUE((*early)->Ask("", 1, false));
}

TEST_F(OutsideBaselineTest, WhoIsBegunTouchesNoDeviceBeforeItIsExpected) {
  const std::string opened = folder_ + "/opened";
  OutsideBaseline script =
      Script("read open; echo \"$open\" > " + opened + "; echo '{\"device\": true}'; " + kAnswers, true);
  script.files.clear();  // ours: it may write
  const auto process = OutsideProcess::Begin(script, false, nullptr);
  ASSERT_TRUE(process) << process.error().message;
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(std::filesystem::exists(opened));
  EXPECT_FALSE((*process)->opened());
  (*process)->Expect("");
  EXPECT_TRUE((*process)->expected());
  ASSERT_TRUE((*process)->Settle());
  EXPECT_TRUE((*process)->opened());
  EXPECT_FALSE((*process)->expected());
  const auto line = ReadFile(opened);
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, "{\"open\":true}\n");
}

TEST_F(OutsideBaselineTest, WhoHasSettledHasAnsweredAndStandsStill) {
  const auto process = OutsideProcess::Begin(
      Script(
          "while read line; do sleep 0.1; n=$((n + 1)); echo \"{\\\"ns\\\": [${n}000]}\"; while :; do :; done & done"),
      false, nullptr);
  ASSERT_TRUE(process) << process.error().message;
  (*process)->Expect("");
  ASSERT_TRUE((*process)->Settle());
  std::this_thread::sleep_for(milliseconds(50));
  const auto stopped = (*process)->ProcessorNanoseconds();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ((*process)->ProcessorNanoseconds(), stopped);
  (*process)->Continue();
  const auto times = (*process)->Ask("", 1, false);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us, (std::vector<double>{2})) << "the answer to this question, not to the one before";
}

TEST_F(OutsideBaselineTest, WhatGoesWrongBeforeItIsNeededIsNoAnswer) {
  for (const char* program : {"read line; echo '{\"error\": \"out of memory\", \"goes_on\": true}'; read line",
                              "read line; echo nonsense", "exit 1"}) {
    const auto process = OutsideProcess::Begin(Script(program), false, nullptr);
    ASSERT_TRUE(process) << process.error().message;
    (*process)->Expect("");
    EXPECT_TRUE((*process)->Settle()) << program;
    EXPECT_TRUE((*process)->lost()) << "who needs it starts it again: " << program;
  }
  const auto ended = OutsideProcess::Begin(Script(kAnswers), false, nullptr);
  ASSERT_TRUE(ended);
  (*ended)->Expect("");
  (*ended)->End();  // a full device
  EXPECT_TRUE((*ended)->Settle());
  EXPECT_TRUE((*ended)->lost());
}

// A PyTorch of a few lines, on a device that does what it is asked for one after the other: each kernel takes 10 us,
// and asking for one 40 us. `waits`: the model waits for the device in its midst.
std::string FakeTorch(bool waits) {
  return std::string(R"(
import contextlib, sys, time, types
class Device:
    host = busy = 0.0    # microseconds; the device is done at `busy`
device = Device()
def launch(us, ask=40):
    device.host += ask
    device.busy = max(device.busy, device.host) + us
class Event:
    def __init__(self, **ignored): pass
    def record(self): self.at = max(device.busy, device.host)
    def query(self): return self.at <= device.host
    def synchronize(self): device.host = max(device.host, self.at)
    def elapsed_time(self, other): return (other.at - self.at) / 1e3
def synchronize(): device.host = max(device.host, device.busy)
class Tensor:
    def add_(self, one): launch(5)
    def cuda(self): return self
class Module:
    def cuda(self): return self
    def __call__(self, *inputs): return self.forward(*inputs)
torch = types.ModuleType("torch")
torch.__version__ = "2.13.0"
torch.Tensor, torch.uint8 = Tensor, None
torch.zeros = lambda *shape, **ignored: Tensor()
torch.manual_seed = torch.set_num_threads = lambda n: None
torch.no_grad = contextlib.nullcontext
torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
torch.cuda = types.SimpleNamespace(init=lambda: None, Event=Event, synchronize=synchronize,
                                   _sleep=lambda cycles: launch(cycles / 1700, 1),
                                   mem_get_info=lambda: (1 << 30, 1 << 31), empty_cache=lambda: None)
torch.nn = types.SimpleNamespace(Module=Module)
torch.launch, torch.waits = launch, )") +
         (waits ? "True" : "False") + "\nsys.modules['torch'] = torch\n";
}

Result<OutsideProcess::Times> OnFakeDevice(bool waits, bool cold) {
  const auto folder = TempDirectory::Create("fake");
  EXPECT_TRUE(folder);
  const std::string file = folder->path() + "/model.py";
  EXPECT_TRUE(WriteFileAtomically(file, R"(
import torch
class Model(torch.nn.Module):
    def forward(self):
        for i in range(3):
            torch.launch(10)
            if torch.waits: torch.cuda.synchronize()
def get_inputs(): return []
)"));
  const auto process =
      Started({.name = "eager",
               .mode = "eager",
               .argv = {"/usr/bin/python3", "-I", "-c", FakeTorch(waits) + std::string(BaselineBridge()), file, "eager",
                        "1", "64", "cuda"},
               .environment = InheritedEnvironment(),
               .directory = {},
               .files = {file},
               .device = true});
  if (!process) return tl::unexpected<Error>(process.error());
  return (*process)->Ask("eager", 4, cold);
}

TEST(DeviceBaselineTest, WarmCallsAreTimedWithTheirDispatchHiddenAndAsTheyAre) {
  const auto times = OnFakeDevice(false, false);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us, (std::vector<double>(4, 30)));              // three kernels, one after the other
  EXPECT_EQ(times->dispatched_us, (std::vector<double>(4, 130)));  // asked for at 40, 80, 120, and the last takes 10
}

TEST(DeviceBaselineTest, ColdCallsAreHiddenToo) {
  const auto times = OnFakeDevice(false, true);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us, (std::vector<double>(4, 30)));
  EXPECT_TRUE(times->dispatched_us.empty());
}

TEST(DeviceBaselineTest, WhatWaitsForTheDeviceItselfIsTimedAsItIs) {
  const auto times = OnFakeDevice(true, false);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->us, (std::vector<double>(4, 150)));
  EXPECT_EQ(times->dispatched_us, times->us);
}

}  // namespace
}  // namespace hone
