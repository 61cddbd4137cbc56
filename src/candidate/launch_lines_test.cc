#include "candidate/launch_lines.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Problem SomeProblem() {
  Problem problem;
  problem.tensors = {{.name = "x", .shape = {6, 100}},
                     {.name = "scale.w", .shape = {100}, .role = Role::kParameter},
                     {.name = "y", .shape = {6, 100}, .role = Role::kOutput}};
  return problem;
}

// The plan of a line over an empty kernel, or "line N: what is wrong".
std::variant<Plan, PlanIssue> Parse(const std::string& lines) {
  return PlanOfKernels(lines + "\n__global__ void k() {}\n", SomeProblem());
}

std::string IssueOf(const std::string& lines) {
  const auto parsed = Parse(lines);
  const auto* issue = std::get_if<PlanIssue>(&parsed);
  return issue ? issue->where + ": " + issue->message : "no issue";
}

TEST(LaunchLinesTest, BecomeAPlanThatIsTheSameInJson) {
  const auto parsed = Parse(
      "// A comment.\n"
      "// hone: buffer sums f32 extent(x,0)*2\n"
      "  // hone: launch sum<float> grid=extent(x,0) block=32,2 shared=4*32 args=x,sums\n"
      "// hone: launch k grid=(n+255)/256+1,1,2 block=256 cluster=2 "
      "args=sums,scale.w,y,i64:n,i32:count(scale.w)-1,f32:-0.5");
  ASSERT_TRUE(std::holds_alternative<Plan>(parsed)) << std::get<PlanIssue>(parsed).message;
  const Plan& plan = std::get<Plan>(parsed);
  ASSERT_EQ(plan.buffers.size(), 1u);
  EXPECT_EQ(plan.buffers[0].shape, Shape{12});
  ASSERT_EQ(plan.steps.size(), 2u);
  const auto& first = std::get<LaunchStep>(plan.steps[0]);
  EXPECT_EQ(first.kernel, "sum<float>");
  EXPECT_EQ(first.grid[0], 6);
  EXPECT_EQ(first.block, (std::array<std::int64_t, 3>{32, 2, 1}));
  EXPECT_EQ(first.shared_bytes, 128);
  const auto& second = std::get<LaunchStep>(plan.steps[1]);
  EXPECT_EQ(second.grid, (std::array<std::int64_t, 3>{4, 1, 2}));
  EXPECT_EQ(second.cluster[0], 2);
  ASSERT_EQ(second.arguments.size(), 6u);
  EXPECT_EQ(std::get<BufferArgument>(second.arguments[1]).name, "scale.w");
  EXPECT_EQ(std::get<std::int64_t>(std::get<NumberArgument>(second.arguments[3]).value), 600);
  EXPECT_EQ(std::get<std::int64_t>(std::get<NumberArgument>(second.arguments[4]).value), 99);
  EXPECT_EQ(std::get<double>(std::get<NumberArgument>(second.arguments[5]).value), -0.5);
  const auto again = ParsePlan(ToJson(plan));
  ASSERT_TRUE(std::holds_alternative<Plan>(again)) << std::get<PlanIssue>(again).message;
  EXPECT_EQ(ToJson(std::get<Plan>(again)), ToJson(plan));
}

TEST(LaunchLinesTest, SayWhatIsDoneOnceAndWhatWaitsForEachOther) {
  const auto parsed = Parse(
      "// hone: buffer packed f32 count(scale.w)\n"
      "// hone: prepare pack grid=1 block=32 args=scale.w,packed\n"
      "// hone: memset y 255\n"
      "// hone: launch k grid=8 block=32 together=4+4 args=x,packed,y");
  ASSERT_TRUE(std::holds_alternative<Plan>(parsed)) << std::get<PlanIssue>(parsed).message;
  const Plan& plan = std::get<Plan>(parsed);
  ASSERT_EQ(plan.prepare.size(), 1u);
  EXPECT_EQ(std::get<LaunchStep>(plan.prepare[0]).kernel, "pack");
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(std::get<MemsetStep>(plan.steps[0]).buffer, "y");
  EXPECT_EQ(std::get<MemsetStep>(plan.steps[0]).byte, 255);
  EXPECT_EQ(std::get<LaunchStep>(plan.steps[1]).together, 8);
}

TEST(LaunchLinesTest, MistakesAreNamedWithTheirLineAndMend) {
  const std::string good = "// hone: launch k grid=1 block=1 args=x\n";
  EXPECT_EQ(IssueOf("// hone:"),
            "line 1: nothing stands behind 'hone:'; wanted is 'launch KERNEL ...' or 'buffer NAME ...'");
  EXPECT_EQ(IssueOf(good + "// hone: lunch k"), "line 2: 'lunch' is none of launch, prepare, memset and buffer");
  EXPECT_EQ(IssueOf("\n// hone: launch grid=1"), "line 2: launch needs the kernel's name first");
  EXPECT_EQ(IssueOf("// hone: launch k grid=1 args=x"), "line 1: the launch of k needs block=");
  EXPECT_EQ(IssueOf("// hone: launch k grid=1 grid=1"), "line 1: grid is given twice");
  EXPECT_EQ(IssueOf("// hone: launch k grid=n + 1 block=1 args=x"),
            "line 1: '+' is no field=value; a value is written without spaces");
  EXPECT_EQ(IssueOf("// hone: launch k grid=1,1,1,1"), "line 1: grid: there are at most three extents");
  EXPECT_EQ(IssueOf("// hone: launch k grid=n/601"), "line 1: grid: 'n/601' is 0, and an extent is at least 1");
  EXPECT_EQ(IssueOf("// hone: launch k grid=n/0"), "line 1: grid: 'n/0' divides by zero");
  EXPECT_EQ(IssueOf("// hone: launch k grid=1-2"), "line 1: grid: '1-2' is negative on the way");
  EXPECT_EQ(IssueOf("// hone: launch k grid=n*n*n*n*n*n*n*n"), "line 1: grid: 'n*n*n*n*n*n*n*n' is too large");
  EXPECT_EQ(IssueOf("// hone: launch k grid=(n"), "line 1: grid: '(n': a ')' is missing");
  EXPECT_EQ(IssueOf("// hone: launch k grid=m"),
            "line 1: grid: 'm': 'm' is none of n, count(TENSOR) and extent(TENSOR, DIMENSION)");
  EXPECT_EQ(IssueOf("// hone: launch k grid=count(z)"), "line 1: grid: the problem has no tensor 'z'");
  EXPECT_EQ(IssueOf("// hone: launch k grid=extent(x,2)"), "line 1: grid: x has no dimension 2: its shape is [6, 100]");
  EXPECT_EQ(IssueOf("// hone: launch k color=1"),
            "line 1: color: the fields are grid, block, cluster, shared, together and args");
  EXPECT_EQ(IssueOf("// hone: launch k args=x,z"),
            "line 1: args: 'z' is neither a tensor of the problem nor a buffer; a number has its type before it, as "
            "i32:n or f32:0.5");
  EXPECT_EQ(IssueOf("// hone: launch k args=i7:1"), "line 1: args: 'i7:1': numbers are i32, u32, i64, u64, f32 or f64");
  EXPECT_EQ(IssueOf("// hone: launch k args=f32:one"), "line 1: args: 'one' is no number");
  EXPECT_EQ(IssueOf(good + "// hone: launch k grid=3 block=1 cluster=2 args=x"),
            "line 2: a grid of 3 blocks does not divide into clusters of 2");
  EXPECT_EQ(IssueOf(good + "// hone: prepare k grid=1 block=1 together=2 args=scale.w"),
            "line 2: 2 blocks that wait for each other, in a grid of fewer");
  EXPECT_EQ(IssueOf(good + "// hone: memset x 256"), "line 2: wanted is 'memset BUFFER BYTE', as 'memset sums 0'");
  EXPECT_EQ(IssueOf(good + "// hone: memset z 0"), "line 2: 'z' is neither a tensor of the problem nor a buffer");
  EXPECT_EQ(IssueOf("// hone: buffer x f32 4"), "line 1: 'x' is a tensor or a buffer already");
  EXPECT_EQ(IssueOf("// hone: buffer t f31 4"),
            "line 1: wanted is 'buffer NAME DTYPE COUNT', as 'buffer sums f32 extent(x, 0)'");
  EXPECT_EQ(IssueOf("// hone: buffer t f32 4"), "line 1: nothing is launched: a '// hone: launch' line is missing");
}

TEST(LaunchLinesTest, AreSeenOnlyAtTheBeginOfALine) {
  EXPECT_TRUE(HasLaunchLines("  // hone: launch k"));
  EXPECT_FALSE(HasLaunchLines("int x;  // hone: launch k\n"));
  EXPECT_FALSE(HasLaunchLines(""));
}

}  // namespace
}  // namespace hone
