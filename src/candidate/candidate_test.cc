#include "candidate/candidate.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace hone {
namespace {

TEST(CandidateTest, SuffixSaysTheKind) {
  const auto folder = TempDirectory::Create("candidate-test");
  ASSERT_TRUE(folder.has_value());
  for (const auto& [name, kind] : {std::pair{"a.hk", CandidateKind::kProgram},
                                   {"a.cc", CandidateKind::kModule},
                                   {"a.cpp", CandidateKind::kModule},
                                   {"a.cu", CandidateKind::kCudaModule},
                                   {"a.b.cxx", CandidateKind::kModule}}) {
    const auto path = folder->path() + "/" + name;
    ASSERT_TRUE(WriteFileAtomically(path, "text\n").has_value());
    const auto candidate = LoadCandidate(path);
    ASSERT_TRUE(candidate.has_value()) << candidate.error().message;
    EXPECT_EQ(candidate->kind, kind) << name;
    EXPECT_EQ(candidate->text, "text\n");
  }
}

TEST(CandidateTest, UnknownSuffixIsRefusedBeforeReading) {
  for (const char* path : {"/nowhere/a.ptx", "/nowhere/a", "/nowhere.hk/a"}) {
    const auto candidate = LoadCandidate(path);
    ASSERT_FALSE(candidate.has_value());
    EXPECT_EQ(candidate.error().kind, ErrorKind::kUsage) << path;
  }
}

TEST(CandidateTest, AbsentFileIsSaid) {
  const auto candidate = LoadCandidate("/nowhere/a.hk");
  ASSERT_FALSE(candidate.has_value());
  EXPECT_EQ(candidate.error().kind, ErrorKind::kNotFound);
}

TEST(CandidateTest, IdentityIsOfKindAndText) {
  const Candidate program{CandidateKind::kProgram, "x"}, module{CandidateKind::kModule, "x"},
      other{CandidateKind::kModule, "y"};
  EXPECT_EQ(program.Identity(), (Candidate{CandidateKind::kProgram, "x"}).Identity());
  EXPECT_NE(program.Identity(), module.Identity());
  EXPECT_NE(module.Identity(), other.Identity());
  EXPECT_EQ(module.Identity().size(), 64u);
}

}  // namespace
}  // namespace hone
