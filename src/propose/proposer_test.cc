#include "propose/proposer.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(ProposersTest, AreNamedAsTheirFilesAndFoundByName) {
  ASSERT_GE(AllProposers().size(), 2u);
  for (const ProposerRow* row : AllProposers()) {
    EXPECT_FALSE(row->doc.empty());
    EXPECT_NE(row->make, nullptr);
  }
  EXPECT_EQ(ChooseProposer("expert")->Identity(), "expert");
  const auto unknown = ChooseProposer("exprt");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.starts_with("there is no proposer 'exprt'; did you mean 'expert'?; known are "))
      << unknown.error().message;
}

}  // namespace
}  // namespace hone
