#include "base/secret_random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hone {
namespace {

// RFC 8439, appendix A.1, test vector 1: key, nonce and counter are zero.
TEST(SecretRandomTest, IsTheKeyStreamOfChaCha20) {
  SecretRandom random({}, 0);
  std::vector<std::uint8_t> bytes(16);
  random.Fill(bytes.data(), bytes.size());
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5,
                                              0x53, 0x86, 0xbd, 0x28}));
}

TEST(SecretRandomTest, AKeyAndAStreamGiveTheSameNumbersAgain) {
  const auto key = SecretRandom::NewKey();
  SecretRandom a(key, 7), b(key, 7), other(key, 8);
  std::vector<std::uint64_t> first, second, third;
  for (int i = 0; i < 200; ++i) {
    first.push_back(a());
    second.push_back(b());
    third.push_back(other());
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST(SecretRandomTest, EveryKeyIsNew) { EXPECT_NE(SecretRandom::NewKey(), SecretRandom::NewKey()); }

}  // namespace
}  // namespace hone
