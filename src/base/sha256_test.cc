#include "base/sha256.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// FIPS 180-4 examples.
TEST(Sha256Test, KnownAnswers) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, AFileThatIsNotThereIsNotFound) {
  const auto hash = Sha256OfFile("/no/such/file");
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace hone
