#include "profile/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "profile/host_facts.h"
#include "profile/kernel_facts.h"
#include "profile/plan_facts.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

TEST(ProfileTest, FactNamesAreUniqueAndExplained) {
  std::set<std::string_view> names, counters;
  for (const FactName& fact : AllFacts()) {
    EXPECT_TRUE(names.insert(fact.name).second) << fact.name;
    EXPECT_FALSE(fact.doc.empty()) << fact.name;
    EXPECT_TRUE(fact.counter.empty() || counters.insert(fact.counter).second) << fact.counter;
    EXPECT_EQ(FindFact(fact.name), &fact);
  }
}

TEST(ProfileTest, AFactIsKeptOnceInTheOrderOfTheTable) {
  Profile profile(Scope::kLaunch, "relu");
  profile.Set("occupancy", 0.5, FactSource::kLaunch);
  profile.Set("registers", 16, FactSource::kCubin);
  profile.Set("registers", 32, FactSource::kCubin);
  profile.SetWord("occupancy_limit", "warps", FactSource::kLaunch);
  ASSERT_EQ(profile.facts().size(), 3u);
  EXPECT_EQ(profile.facts()[0].name, "registers");
  EXPECT_EQ(profile.Get("registers"), 32);
  EXPECT_EQ(profile.Word("occupancy_limit"), "warps");
  EXPECT_FALSE(profile.Get("stack_bytes"));
  const auto json = ToJson(profile);
  EXPECT_EQ(json["facts"][1]["unit"], "share");
  EXPECT_EQ(json["facts"][2]["value"], "warps");
}

// Hand-counted on an H200: 132 multiprocessors of 64 warps and 64 Ki registers.
TEST(LaunchFactsTest, WavesTailAndWhatOneBlockMoreWouldTake) {
  cuda::KernelFacts kernel;
  kernel.registers = 40;
  LaunchStep launch{.kernel = "k", .grid = {1000, 1, 1}, .block = {256, 1, 1}};
  Profile profile(Scope::kLaunch, "k");
  AddLaunchFacts(profile, kernel, launch, TypicalDevice());
  EXPECT_EQ(profile.Get("resident_blocks"), 6);  // 65536 / (40 * 256) = 6.4
  EXPECT_EQ(profile.Get("occupancy"), 48 / 64.0);
  EXPECT_EQ(profile.Word("occupancy_limit"), "registers");
  EXPECT_EQ(profile.Get("registers_to_gain"), 32);
  EXPECT_NEAR(*profile.Get("waves"), 1000 / 792.0, 1e-9);
  EXPECT_NEAR(*profile.Get("tail_share"), 1 - 1000 / 1584.0, 1e-9);
  EXPECT_EQ(profile.Get("busy_multiprocessors"), 1);
  EXPECT_FALSE(profile.Get("shared_to_gain"));

  launch.shared_bytes = 70 << 10;
  AddLaunchFacts(profile, kernel, launch, TypicalDevice());
  EXPECT_EQ(profile.Get("resident_blocks"), 3);
  EXPECT_EQ(profile.Get("shared_to_gain"), (228 << 10) / 4 - 1024);
}

class PlanFactsTest : public testing::Test {
 protected:
  static LaunchStep Step(std::vector<std::string> names) {
    LaunchStep step;
    for (std::string& name : names) step.arguments.emplace_back(BufferArgument{std::move(name)});
    return step;
  }
  Profile Facts() const {
    Profile profile(Scope::kPlan, "plan");
    AddPlanFacts(profile, plan_, problem_, TypicalDevice());
    return profile;
  }

  Problem problem_{.tensors = {{.name = "x", .shape = {1000}, .role = Role::kInput},
                               {.name = "w", .shape = {100}, .role = Role::kParameter},
                               {.name = "y", .shape = {1000}, .role = Role::kOutput}}};
  Plan plan_{.buffers = {{"h", DType::kF32, {1000}}, {"packed", DType::kF32, {100}}}};
};

TEST_F(PlanFactsTest, WhatAStepWritesForAnotherCrossesTheMemoryTwice) {
  plan_.steps = {Step({"x", "h"}), Step({"h", "y"})};
  const Profile profile = Facts();
  EXPECT_EQ(profile.Get("launches"), 2);
  EXPECT_EQ(profile.Get("plan_bytes"), 16000);
  EXPECT_EQ(profile.Get("handed_on_bytes"), 8000);
  EXPECT_EQ(profile.Word("handed_on_most"), "h");
  EXPECT_EQ(profile.Get("read_again_bytes"), 0);
}

TEST_F(PlanFactsTest, InputsAndWhatWasPreparedAreReadAgain) {
  plan_.prepare = {Step({"w", "packed"})};
  plan_.steps = {Step({"x", "packed", "h"}), Step({"x", "packed", "y"})};
  const Profile profile = Facts();
  EXPECT_EQ(profile.Get("handed_on_bytes"), 0);
  EXPECT_EQ(profile.Get("read_again_bytes"), 4400);
}

TEST_F(PlanFactsTest, AProductOfALibraryIsHeldAgainstTheContract) {
  problem_.contract = Precision::kTf32;
  MatmulStep product{.a = {.buffer = "x"}, .b = {.buffer = "w"}, .d = {.buffer = "y"}};
  plan_.steps = {product};
  EXPECT_EQ(Facts().Get("excess_bits"), 13);
  product.compute = LibraryCompute::kTf32;
  plan_.steps = {product};
  EXPECT_EQ(Facts().Get("excess_bits"), 0);
}

constexpr char kDisassembly[] = R"(
module.so:     file format elf64-x86-64

Disassembly of section .text:

0000000000001100 <setup>:
    1100:	vmulss %xmm0,%xmm1,%xmm0
    1104:	ret

0000000000001120 <hone_run>:
    1120:	xor    %eax,%eax
    1124:	vmovups (%rdi,%rax,4),%ymm0
    1128:	vfmadd231ps %ymm0,%ymm1,%ymm2
    112c:	vaddps %ymm0,%ymm2,%ymm2
    1130:	add    $0x8,%rax
    1134:	jne    1124 <hone_run+0x4>
    1138:	vaddss %xmm0,%xmm2,%xmm2
    113c:	call   1040 <expf@plt>
    1140:	vaddss %xmm0,%xmm2,%xmm2
    1144:	jne    113c <hone_run+0x1c>
    1148:	ret
)";

TEST(HostFactsTest, VectorsScalarsAndCallsInLoopsAreCounted) {
  DeviceModel machine;
  machine.vector_bytes = 64;
  const auto profiles = ReadDisassembly(kDisassembly, machine);
  ASSERT_EQ(profiles.size(), 1u);  // setup has no loop
  const Profile& run = profiles[0];
  EXPECT_EQ(run.subject, "hone_run");
  EXPECT_EQ(run.scope, Scope::kFunction);
  EXPECT_NEAR(*run.Get("scalar_share"), 1 / 3.0, 1e-9);
  EXPECT_EQ(run.Get("vector_bytes"), 32);
  EXPECT_EQ(run.Get("vector_width_share"), 0.5);
  EXPECT_EQ(run.Get("loop_calls"), 1);
}

TEST(HostFactsTest, WhatIsNoDisassemblyHasNoProfiles) {
  for (const char* text : {"", "<", "<f>:\n", "<f>:\n 11:\t", "<f>:\n zz:\tjne 0\n", "12:\tnop\n"})
    EXPECT_TRUE(ReadDisassembly(text, {}).empty()) << text;
}

}  // namespace
}  // namespace hone
