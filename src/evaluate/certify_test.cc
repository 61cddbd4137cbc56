#include "evaluate/certify.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(CertifyTest, TheFirstFindingOfEveryToolIsFoundWithItsPlace) {
  EXPECT_EQ(FirstSanitizerFinding("========= COMPUTE-SANITIZER\n"
                                  "========= Invalid __global__ write of size 4 bytes\n"
                                  "=========     at kernel+0x70\n"
                                  "=========     by thread (0,0,0) in block (0,0,0)\n"
                                  "========= ERROR SUMMARY: 1 error\n"),
            "Invalid __global__ write of size 4 bytes at kernel+0x70");
  EXPECT_EQ(FirstSanitizerFinding("========= COMPUTE-SANITIZER\n"
                                  "========= Error: Race reported between Write access at kernel+0x90\n"
                                  "=========     and Read access at kernel+0x110 [1024 hazards]\n"
                                  "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"),
            "Error: Race reported between Write access at kernel+0x90 and Read access at kernel+0x110 [1024 hazards]");
  EXPECT_NE(
      FirstSanitizerFinding("========= Uninitialized __global__ memory read of size 4 bytes\n=========     at k\n"),
      "");
  EXPECT_NE(
      FirstSanitizerFinding("========= Barrier error detected. Divergent thread(s) in warp\n=========     at k\n"), "");
}

TEST(CertifyTest, ACleanLogAndAFailedCallAreNoFindings) {
  EXPECT_EQ(FirstSanitizerFinding("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), "");
  EXPECT_EQ(
      FirstSanitizerFinding("========= COMPUTE-SANITIZER\n"
                            "========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to \"invalid argument\"\n"
                            "=========     Saved host backtrace up to driver entry point at error\n"
                            "========= ERROR SUMMARY: 1 error\n"),
      "");
}

TEST(CertifyTest, OnAHostThereIsNothingToCertify) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  const Problem problem;
  ASSERT_TRUE(Certify({.problem = problem}, evaluation));
  EXPECT_TRUE(evaluation.verdict.accepted());
  ASSERT_EQ(evaluation.how->certificate.size(), 1u);
  EXPECT_NE(evaluation.how->certificate[0].find("not certified"), std::string::npos);
}

}  // namespace
}  // namespace hone
