#include "evaluate/cache_readers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hone {
namespace {

// Pages that nobody has touched are not in memory; one read of each brings them there.
TEST(CacheReadersTest, EveryByteRangeIsReadToItsEnd) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kPages = 16;
  void* memory = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto* bytes = static_cast<const std::byte*>(memory);
  const std::span<const std::byte> parts[] = {{bytes, 3 * page}, {bytes + 8 * page, 2 * page + 1}, {bytes, 0}};
  CacheReaders readers(2);
  for (int again = 0; again < 100; ++again) readers.Read(parts);
  unsigned char resident[kPages];
  ASSERT_EQ(mincore(memory, kPages * page, resident), 0);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < kPages; ++i) {
    if (resident[i] & 1) found.push_back(i);
  }
  for (const std::size_t expected : {0, 1, 2, 8, 9, 10})
    EXPECT_NE(std::find(found.begin(), found.end(), expected), found.end()) << expected;
  EXPECT_EQ(std::find(found.begin(), found.end(), 5), found.end());
  munmap(memory, kPages * page);
}

}  // namespace
}  // namespace hone
