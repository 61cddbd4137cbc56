// The first elements in order: compiled without spills for keys of 32 and of 64 bits, rows of a warp, of a block and of
// many, chosen by what is wanted, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::string declared, statement;
  std::size_t launches = 1;
};
// What is drawn has many equals: reals are multiples of 1/512 from -2 to 6, whole numbers are below 100.
const Case kCases[] = {
    {"input x: f32[301, 64]\noutput y: i64[301, 4]", "order descending(x) over [1] by {count: 4}"},
    {"input x: bf16[7, 100]\noutput y: i32[7, 8]", "order ascending(x * 2) over [1] by {count: 8} -> it * 3"},
    {"input x: f32[9, 33]\noutput y: i64[9, 33]", "order ascending(x) over [1]"},
    {"input x: f32[5, 1000]\noutput y: i64[5, 50]", "order descending(x) over [1] by {count: 50}"},
    {"input x: f32[1024, 3]\noutput y: i64[1024, 3]", "order descending(x) over [0]"},
    {"input x: i64[6, 700]\noutput y: i64[6, 20]", "order descending(x) over [1] by {count: 20}"},
    {"input x: i32[3, 5000]\ninput s: f32[3, 1]\noutput y: f32[3, 700]",
     "order ascending(x) over [1] by {count: 700} -> real(it) * s"},
    {"input x: f64[2, 3000]\noutput y: i64[2, 2000]", "order descending(x) over [1] by {count: 2000}"},
    {"input x: bool[4, 2500]\noutput y: i64[4, 2048]", "order descending(x) over [1] by {count: 2048}"},
    {"input x: f32[3, 16384]\noutput y: i64[3, 1]", "order ascending(x) over [1] by {count: 1}"},
    {"input x: f32[2, 100001]\noutput y: i64[2, 1000]",
     "order descending(x) over [1] by {count: 1000} with {way: select}", 2},
    {"input x: i64[1, 20000]\noutput y: i64[1, 300]", "order ascending(x) over [1] by {count: 300}", 2},
    {"input x: f32[1, 400000]\noutput y: i64[1, 2000]",
     "order descending(relu(x - 5.5)) over [1] by {count: 2000} with {way: select, part: 8192}", 4},
    {"input x: f32[2, 5000]\noutput y: i64[2, 5000]", "order descending(x) over [1]"},
    {"input x: f32[3000, 2]\noutput y: i64[2500, 2]", "order ascending(x) over [0] by {count: 2500}"},
    {"input x: i64[2, 300]\noutput y: i64[2, 9]", "order descending(x) over [1] by {count: 9} with {way: radix}"},
    {"input x: f32[300, 2]\noutput y: i64[300, 2]", "order descending(x) over [1]"},
    {"input x: i32[7, 1100]\noutput y: i64[7, 1100]", "order ascending(x) over [1]"},
    // Elements along with their places. By 1 / it one sees of which sign a zero is.
    {"input x: f32[301, 64]\noutput y: i64[301, 4]\noutput v: f32[301, 4]",
     "order descending(x) over [1] by {count: 4}\n  also v = it"},
    {"input x: f32[5, 1000]\noutput y: i64[5, 1000]\noutput v: f32[5, 1000]\noutput s: bool[5, 1000]",
     "order ascending(x * -1) over [1]\n  also v = it\n  also s = 1 / it < 0"},
    {"input x: bf16[7, 300, 10]\ninput s: f32[8, 1]\noutput y: i32[7, 8, 10]\noutput v: bf16[7, 8, 10]",
     "order ascending(x) over [1] by {count: 8} -> it * 3\n  also v = it * s"},
    {"input x: i32[3, 5000]\noutput y: i64[3, 700]\noutput v: i32[3, 700]",
     "order descending(x) over [1] by {count: 700}\n  also v = it"},
    {"input x: i64[6, 700]\noutput y: i64[6, 20]\noutput v: f32[6, 20]",
     "order descending(x) over [1] by {count: 20}\n  also v = real(it) * 0.5"},
    {"input x: f64[2, 3000]\noutput y: i64[2, 2000]\noutput v: f64[2, 2000]",
     "order ascending(x) over [1] by {count: 2000}\n  also v = it"},
    {"input x: bool[4, 2500]\noutput y: i64[4, 2048]\noutput v: bool[4, 2048]",
     "order descending(x) over [1] by {count: 2048}\n  also v = it"},
    {"input x: f32[2, 100001]\noutput y: i64[2, 1000]\noutput v: f32[2, 1000]",
     "order descending(x) over [1] by {count: 1000} with {way: select}\n  also v = it", 2},
    // Few values, so that of most rows too many are found; nearly all different; none above a limit.
    {"input x: f32[5, 100001]\noutput y: i64[5, 1000]\noutput v: f32[5, 1000]",
     "order descending(x) over [1] by {count: 1000} with {way: sample}\n  also v = it", 3},
    {"input x: f32[3, 70000]\ninput z: f32[1, 70000]\noutput y: i64[3, 1000]\noutput v: f32[3, 1000]",
     "order ascending(x * 37 + z) over [1] by {count: 1000} with {way: sample, sample: 8192}\n  also v = it", 3},
    {"input x: f32[2, 40000]\ninput z: f32[2, 40000]\noutput y: i64[2, 300]",
     "order descending(relu(x - 5.99) + z * 0) over [1] by {count: 300} with {way: sample, sample: 4096, chunk: 8192}",
     3},
    {"input x: i64[1, 66000]\noutput y: i64[1, 300]\noutput v: i64[1, 300]",
     "order ascending(x) over [1] by {count: 300} with {way: sample, chunk: 2048}\n  also v = it", 3},
    {"input x: bf16[200000, 2]\noutput y: i32[1500, 2]",
     "order ascending(x) over [0] by {count: 1500} with {way: sample} -> it * 3", 3},
    // By digits: of one block a row and of many, with one tile each and with more, and of each type.
    {"input x: f32[2, 5000]\noutput y: i64[2, 5000]\noutput v: f32[2, 5000]",
     "order descending(x) over [1]\n  also v = it"},
    {"input x: i64[1, 32768]\noutput y: i64[1, 32768]", "order ascending(x) over [1]"},
    {"input x: f64[3, 9000]\ninput z: f64[3, 9000]\noutput y: i64[3, 9000]\noutput v: f64[3, 9000]",
     "order descending(x * 37.5 + z) over [1] with {each: 4, team: 2}\n  also v = it"},
    {"input x: f32[1, 300000]\ninput z: f32[1, 300000]\noutput y: i64[1, 300000]\noutput v: f32[1, 300000]",
     "order ascending(x * 37 + z) over [1] with {each: 4}\n  also v = it"},
    {"input x: bf16[300, 3001]\noutput y: i32[300, 3001]\noutput v: bf16[300, 3001]",
     "order descending(x) over [1] -> it * 3\n  also v = it"},
    {"input x: f16[20000, 3]\noutput y: i64[15000, 3]\noutput v: f16[15000, 3]",
     "order ascending(x) over [0] by {count: 15000} with {each: 16, team: 3}\n  also v = it"},
    {"input x: f64[2, 5000]\noutput y: i64[2, 5000]\noutput v: f64[2, 5000]",
     "order ascending(relu(x - 1) * 3) over [1] with {each: 8, team: 1}\n  also v = it"},
    {"input x: i8[2, 7000]\noutput y: i64[2, 7000]", "order descending(x * 1) over [1]"},
    {"input x: i16[2, 7000]\noutput y: i64[2, 7000]\noutput v: i16[2, 7000]",
     "order descending(x) over [1]\n  also v = it"},
    {"input x: u8[2, 7000]\noutput y: i64[2, 7000]", "order ascending(x) over [1]"},
    {"input x: bool[2, 3000]\noutput y: i64[2, 3000]", "order ascending(x) over [1] with {way: radix, team: 1}"},
    {"input x: f32[5, 100]\noutput y: i64[5, 100]\noutput s: bool[5, 100]",
     "order ascending(x * -1) over [1] with {way: radix}\n  also s = 1 / it < 0"},
};

std::string Text(const Case& one) { return fmt::format("{}\ny = {}", one.declared, one.statement); }

using OrderWaysTest = testing::CudaProgramTest;
using OrderWaysOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(OrderWaysTest, EveryCaseCompilesWithoutSpills) {
  for (const Case& one : kCases) ExpectLaunchesWithoutSpills(Text(one), one.launches);
}

TEST_F(OrderWaysTest, RadixIsForMoreThanIsSortedInSharedMemory) {
  const auto way = [&](std::int64_t wanted, const std::string& settings = "") {
    const auto lowered = Lowered(fmt::format(
        "input x: f32[4, 5000]\noutput y: i64[4, {0}]\ny = order ascending(x) over [1] by {{count: {0}}}{1}", wanted,
        settings));
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(way(2048), "select");
  EXPECT_EQ(way(2049), "radix");
  EXPECT_EQ(way(2049, " with {way: select}"),
            "'way' select: 2049 of a row are wanted, and 2048 at most are sorted in shared memory; try radix");
  const auto of_long = [&](const char* type, int wanted) {
    const auto lowered = Lowered(
        fmt::format("input x: {0}[4, 100000]\noutput y: i64[4, {1}]\ny = order ascending(x) over [1] by {{count: {1}}}",
                    type, wanted));
    return std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(of_long("f32", 1000), "sample");
  EXPECT_EQ(of_long("f32", 10), "select");
  EXPECT_EQ(of_long("i32", 1000), "select");
  EXPECT_EQ(way(2000, " with {way: sample}"),
            "'way' sample: a row of 5000 elements is looked at as soon as a sample of it; try select");
}

TEST_F(OrderWaysTest, APartIsLongerThanWhatItGives) {
  const auto lowered = Lowered(
      "input x: f32[4, 50000]\noutput y: i64[4, 2000]\ny = order ascending(x) over [1] by {count: 2000} with "
      "{way: select, part: 4096}");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(lowered));
  EXPECT_EQ(std::get<dsl::Complaint>(lowered).message,
            "'part' 4096: it is a power of two from 8192 to 16384; try 8192");
}

TEST_F(OrderWaysTest, ASampleIsNotSoLargeThatItIsHalfOfARowNorSoSmallThatTooManyAreFound) {
  const auto complaint = [&](std::int64_t row, std::int64_t wanted, const std::string& with) {
    const auto lowered = Lowered(fmt::format(
        "input x: f32[4, {0}]\noutput y: i64[4, {1}]\ny = order ascending(x) over [1] by {{count: {1}}} with {{{2}}}",
        row, wanted, with));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint(100000, 1000, "way: sample"), "taken");
  EXPECT_EQ(complaint(40000, 300, "way: sample, sample: 16384"),
            "'sample' 16384: a sample is a fourth of a row at most; try 8192");
  EXPECT_EQ(complaint(100000, 2000, "way: sample"), "taken");
  EXPECT_EQ(complaint(100000, 2000, "way: sample, sample: 4096, pieces: 1"),
            "'pieces' 1: what it finds does not fit into shared memory; try 4");
  EXPECT_EQ(complaint(100000, 2000, "way: sample, sample: 4096, pieces: 3"), "'pieces' 3: it is 1, 2, 4 or 8; try 1");
  EXPECT_EQ(
      complaint(1000000, 4500, "way: sample"),
      "'way' sample: what a sample finds, more than the 4500 that are wanted, does not fit into shared memory; try "
      "radix");
  EXPECT_EQ(complaint(100000, 1000, "way: sample, sample: 5000"), "'sample' 5000: it is 4096, 8192 or 16384; try 8192");
  EXPECT_EQ(complaint(100000, 1000, "way: sample, chunk: 100"), "'chunk' 100: it is 2048, 4096 or 8192; try 4096");
}

TEST_F(OrderWaysTest, ATeamIsNoLargerThanARowHasTilesNorThanTheDevice) {
  const auto complaint = [&](const char* type, std::int64_t row, const std::string& with) {
    const auto lowered = Lowered(fmt::format(
        "input x: {0}[1, {1}]\noutput y: i64[1, {1}]\ny = order ascending(x) over [1] with {{way: radix, {2}}}", type,
        row, with));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("f32", 10000, "each: 8, team: 5"), "taken");
  EXPECT_EQ(complaint("f32", 10000, "each: 8, team: 6"),
            "'team' 6: it is at most 5, as a row has so many tiles, or so many blocks run at once; try 5");
  EXPECT_EQ(complaint("f32", 1000000, "each: 16, team: 250"),
            "'team' 250: it is at most 245, as a row has so many tiles, or so many blocks run at once; try 245");
  EXPECT_EQ(complaint("i64", 10000, "each: 16"), "'each' 16: it is 4 or 8, where keys have 64 bits; try 8");
  EXPECT_EQ(complaint("f32", 10000, "each: 5"), "'each' 5: it is 4, 8 or 16; try 8");
}

TEST_F(OrderWaysOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(Text(one));
    ExpectWhatItSays(Text(one), 0);
  }
}

}  // namespace
}  // namespace hone
