#include "protocol/tensor_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

namespace hone {
namespace {

TEST(TensorMemoryTest, TensorsStartAtMultiplesOf64AndEndNextToACanaryPage) {
  std::int64_t end = 0;
  for (const Place& place : PlaceTensors({1, 63, 64, 65, 4095, 4096, 4097, 256000, 0}, end)) {
    EXPECT_EQ(place.offset % kPageBytes, 0);
    EXPECT_EQ(place.data % 64, 0);
    EXPECT_GE(place.data, kPageBytes);
    EXPECT_EQ(place.total % kPageBytes, 0);
    const auto behind = place.total - place.data - place.bytes;
    EXPECT_GE(behind, kPageBytes);
    EXPECT_LT(behind, kPageBytes + 64);
  }
}

TEST(TensorMemoryTest, WritesOutsideOfATensorAreFoundWithTheirDistance) {
  std::int64_t end = 0;
  const auto places = PlaceTensors({100, 1000}, end);
  auto memory = SharedMemory::Create(end);
  ASSERT_TRUE(memory);
  for (const Place& place : places) FillAll(*memory, place, kPoison);
  EXPECT_FALSE(FindTrespass(*memory, places[0]));
  std::memset(memory->At(places[0]), 0, 100);
  EXPECT_FALSE(FindTrespass(*memory, places[0]));
  memory->At(places[0])[102] = std::byte{0};
  ASSERT_TRUE(FindTrespass(*memory, places[0]));
  EXPECT_EQ(FindTrespass(*memory, places[0])->offset, 102);
  std::memset(memory->At(places[1]) - 8, 0, 8);
  EXPECT_EQ(FindTrespass(*memory, places[1])->offset, -1);
  EXPECT_EQ(FindTrespass(*memory, places[1])->count, 8);
}

TEST(TensorMemoryTest, ThePatternsAreNotNumbers) {
  for (const std::uint16_t pattern : {kPattern, kPoison, kOtherPoison}) {
    const std::uint16_t words[] = {pattern, pattern, pattern, pattern};
    float single;
    double real;
    std::memcpy(&single, words, 4);
    std::memcpy(&real, words, 8);
    EXPECT_TRUE(std::isnan(single));
    EXPECT_TRUE(std::isnan(real));
  }
}

TEST(TensorMemoryTest, TheReadOnlyDescriptorCannotBeMappedForWriting) {
  auto memory = SharedMemory::Create(8192);
  ASSERT_TRUE(memory);
  EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory->read_only_descriptor(), 0), MAP_FAILED);
}

}  // namespace
}  // namespace hone
