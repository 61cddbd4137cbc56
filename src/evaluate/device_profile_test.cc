#include "evaluate/device_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "profile/collect.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

// As ncu 2025.3 prints it: something before, a row of units, commas between the thousands.
constexpr const char* kTable = R"csv(==PROF== Disconnected
"ID","Process ID","Kernel Name","Grid Size","dram__bytes_read.sum","gpu__time_duration.sum"
"","","","","byte","ns"
"0","77","first","(4, 1, 1)","1,048,576","3,104"
"1","77","ampere_sgemm<float, 4>","(4, 1, 1)","n/a","2,000.5"
)csv";

TEST(NcuTableTest, RowsAreKernelsAndNumbersHaveCommas) {
  const std::vector<std::string> metrics = {"gpu__time_duration.sum", "dram__bytes_read.sum", "sm__absent.sum"};
  const auto report = ReadNcuTable(kTable, metrics);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->metrics, (std::vector<std::string>{"gpu__time_duration.sum", "dram__bytes_read.sum"}));
  ASSERT_EQ(report->kernels.size(), 2u);
  EXPECT_EQ(report->kernels[0].name, "first");
  EXPECT_EQ(report->kernels[0].values, (std::vector<double>{3104, 1048576}));
  EXPECT_EQ(report->kernels[1].name, "ampere_sgemm<float, 4>");
  EXPECT_DOUBLE_EQ(report->kernels[1].values[0], 2000.5);
  EXPECT_TRUE(std::isnan(report->kernels[1].values[1]));
}

TEST(NcuTableTest, WhatIsNoTableIsSaidToBeNone) {
  EXPECT_EQ(ReadNcuTable("==ERROR== no kernels were profiled\n", {}).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(ReadNcuTable("\"ID\",\"Name\"\n", {}).error().kind, ErrorKind::kCorrupt);
}

constexpr const char* kProblem = R"({"hone_problem": 1, "name": "p", "contract": "fp32", "tensors": [
  {"name": "x", "shape": [1024], "dtype": "f32", "role": "input",
   "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "y", "shape": [1024], "dtype": "f32", "role": "output"}],
  "graph": [{"op": "aten.relu.default", "args": {"self": "%x"}, "outputs": ["y"]}]})";

class MeasuredTest : public testing::Test {
 protected:
  MeasuredTest() {
    LaunchStep launch;
    launch.kernel = "ours";
    launch.grid = {4, 1, 1};
    launch.block = {256, 1, 1};
    launch.arguments = {BufferArgument{"x"}, BufferArgument{"y"}};
    MatmulStep library;
    library.a.buffer = "x";
    library.b.buffer = "x";
    library.d.buffer = "y";
    plan_.plan.steps = {launch, library};
    plan_.launches = {cuda::KernelFacts{.name = "ours", .registers = 16}};
    profiles_ = ProfilesOf(plan_, "plan", problem_, nullptr, device_);
  }
  const Profile* Of(const std::string& subject) const {
    const auto found = std::find_if(profiles_.begin(), profiles_.end(),
                                    [&](const Profile& profile) { return profile.subject == subject; });
    return found == profiles_.end() ? nullptr : &*found;
  }
  Problem problem_ = ParseProblem(kProblem, "p").value();
  DeviceModel device_ = TypicalDevice();
  cuda::BuiltPlan plan_;
  std::vector<Profile> profiles_;
};

TEST_F(MeasuredTest, CountersGoToTheStepsOfTheirKernelsAndALibrarysKernelsGetProfiles) {
  ProfiledReport report;
  report.metrics = {"dram__bytes_read.sum", "dram__bytes_write.sum"};
  report.kernels = {{0, "ours", {8192, 4096}}, {1, "gemm", {100, 200}}};
  report.timeline = {{0, EventKind::kKernel, "ours", 0, 3}, {1, EventKind::kKernel, "gemm", 4, 9}};
  AddMeasured(profiles_, report, plan_, problem_, device_);
  ASSERT_EQ(profiles_.size(), 3u);
  EXPECT_EQ(profiles_.back().scope, Scope::kPlan);
  ASSERT_NE(Of("ours"), nullptr);
  EXPECT_DOUBLE_EQ(Of("ours")->Get("traffic_ratio").value(), 1.5);
  EXPECT_DOUBLE_EQ(Of("ours")->Get("registers").value(), 16);
  EXPECT_DOUBLE_EQ(Of("ours")->Get("time_us").value(), 3);
  ASSERT_NE(Of("gemm"), nullptr);
  EXPECT_EQ(Of("gemm")->where, "/steps/1");
  EXPECT_DOUBLE_EQ(Of("gemm")->Get("dram_write_bytes").value(), 200);
  EXPECT_DOUBLE_EQ(Of("gemm")->Get("time_us").value(), 5);
  EXPECT_DOUBLE_EQ(Of("plan")->Get("time_us").value(), 9);
  EXPECT_DOUBLE_EQ(Of("plan")->Get("gap_us").value(), 1);
}

TEST_F(MeasuredTest, AKernelOfNoKnownStepIsItsOwnSubject) {
  ProfiledReport report;
  report.metrics = {"dram__bytes_read.sum"};
  report.kernels = {{-1, "ours", {1}}, {-1, "other", {2}}, {1, "gemm", {3}}, {1, "gemm_reduce", {4}}};
  AddMeasured(profiles_, report, plan_, problem_, device_);
  EXPECT_EQ(profiles_.size(), 6u);
  EXPECT_FALSE(profiles_.front().Get("dram_read_bytes"));  // of the plan's own kernel nothing is known to be
  EXPECT_FALSE(Of("gemm")->Get("step_bytes"));             // the step's bytes are of two kernels
}

TEST_F(MeasuredTest, WithoutADeviceTheReasonIsOneLine) {
  const auto report = DeviceProfiler(problem_, {.program = "/bin/false"}).ByCupti(plan_, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message.find('\n'), std::string::npos) << report.error().message;
}

// An `ncu` of the toolkit that HONE_CUDA names, which keeps what it is called with and saw one kernel.
class FakeNcu {
 public:
  FakeNcu() {
    const std::string program = folder_.path() + "/bin/ncu";
    const std::string script =
        "#!/bin/sh\n"
        "if [ \"$1\" = --import ]; then\n"
        "  printf '\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\\n\"0\",\"ours\",\"4,096\"\\n'\n"
        "else\n"
        "  printf '%s\\n' \"$@\" > '" +
        folder_.path() + "/argv'\nfi\n";
    EXPECT_TRUE(MakeDirectories(folder_.path() + "/bin"));
    EXPECT_TRUE(WriteFileAtomically(program, script));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    if (const char* before = std::getenv("HONE_CUDA")) before_ = before;
    setenv("HONE_CUDA", folder_.path().c_str(), 1);
  }
  ~FakeNcu() {
    if (before_.empty()) {
      unsetenv("HONE_CUDA");
    } else {
      setenv("HONE_CUDA", before_.c_str(), 1);
    }
  }
  FakeNcu(const FakeNcu&) = delete;
  FakeNcu& operator=(const FakeNcu&) = delete;

  std::string report() const { return folder_.path() + "/report"; }
  // The argument after this one, when it was last to watch a process.
  std::string Told(const std::string& option) const {
    const auto words = ReadFile(folder_.path() + "/argv");
    const auto at = words ? words->find("\n" + option + "\n") : std::string::npos;
    if (at == std::string::npos) return "(not told)";
    const auto begin = at + option.size() + 2;
    return words->substr(begin, words->find('\n', begin) - begin);
  }

 private:
  TempDirectory folder_ = TempDirectory::Create("fake-ncu").value();
  std::string before_;
};

TEST_F(MeasuredTest, NcuEmptiesCachesWhereTheyAreToBeClean) {
  const FakeNcu ncu;
  plan_.plan.steps.resize(1);
  DeviceProfiler profiler(problem_, {.program = "/bin/true"});
  for (const auto& [caches, control] : {std::pair(Caches::kClean, "all"), std::pair(Caches::kWarm, "none")}) {
    const auto report = profiler.ByNcu(plan_, {.caches = caches}, NcuReplay::kKernel, ncu.report());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(ncu.Told("--cache-control"), control);
    EXPECT_EQ(ncu.Told("--clock-control"), "none");  // as CUPTI leaves them
    EXPECT_EQ(ncu.Told("--replay-mode"), "kernel");
    ASSERT_EQ(report->kernels.size(), 1u);
    EXPECT_EQ(report->kernels[0].step, 0);
  }
}

}  // namespace
}  // namespace hone
