#include <gtest/gtest.h>

#include "dsl/lower.h"
#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(MatmulTest, AllPathsGiveTheInterpretersValues) {
  std::mt19937 random(5);
  testing::ExpectRight(testing::MustCheck(R"(program products
input x: f32[37, 50]
input s: f32[3, 50]
param w: f32[45, 50]
param v: f32[50, 64]
param b: f32[45]
input q: f32[2, 3, 20, 17]
input p: f32[3, 17, 33]
output y: f32[37, 45]
output z: f32[37, 64]
output few: f32[3, 45]
output streamed: f32[3, 64]
output batched: f32[2, 3, 20, 33]
output parts: f32[37, 45]
input long: f32[33, 601]
input deep: f32[601, 70]
output sums: f32[33, 70]
output wide: f32[33, 70]
output made: f32[37, 45]
view wt = w: [50, 45] strides [1, 50]
y = matmul(x, wt) -> it + b -> gelu(it)
z = matmul(x, v) with {pack: none, micro: 6x16, tile: 12x32x16}
few = matmul(s, wt) with {path: dot} -> relu(it + b)
streamed = matmul(s, v) with {path: stream}
batched = matmul(q, p * 2) with {micro: 8x24, tile: 16x24x8}
parts = matmul(relu(x), wt) with {tile: 16x48x12, micro: 8x48, prepack: no, threads: 2} -> it + b
sums = matmul(long, deep) with {micro: 14x32, tile: 28x64x604}
wide = matmul(long, deep) with {micro: 20x16, tile: 20x80x304} -> it * 2
made = matmul(exp(min(x, 0)) * x, wt) with {path: tile}
)"),
                       2, random);
}

TEST(MatmulTest, SingleRowsWithMatricesOfTheirOwnAreNoRowsOfOneProduct) {
  std::mt19937 random(6);
  testing::ExpectRight(testing::MustCheck(R"(program single
input x: f32[6, 1, 17]
input w: f32[6, 17, 33]
input v: f32[17, 33]
input s: f32[6, 1, 33]
output y: f32[6, 1, 33]
output dots: f32[6, 1, 33]
output streamed: f32[6, 1, 33]
output shared: f32[6, 1, 33]
y = matmul(x, w)
dots = matmul(x, w) with {path: dot} -> it + s
streamed = matmul(x, w) with {path: stream}
shared = matmul(x, v) with {path: stream} -> it * s
)"),
                       2, random);
}

TEST(MatmulTest, HeadsLieSideBySideWhereTheyAreSaidTo) {
  std::mt19937 random(7);
  testing::ExpectRight(testing::MustCheck(R"(program heads
input x: f32[2, 1, 20, 17]
input w: f32[3, 17, 32]
input s: f32[20, 1, 32]
output y: f32[2, 20, 3, 32]
output dots: f32[2, 20, 3, 32]
output row: f32[4, 2, 3, 32]
input one: f32[1, 4, 17]
input more: f32[2, 3, 17, 32]
y = matmul(x, w) by {heads: 1} -> it * s
dots = matmul(x, w) by {heads: 1} with {path: dot}
row = matmul(one, more) by {heads: 2} with {path: stream}
)"),
                       2, random);
}

// What is drawn of whole numbers is more than there are matrices.
TEST(MatmulTest, BatchesChooseTheirMatrices) {
  std::mt19937 random(8);
  testing::ExpectRight(testing::MustCheck(R"(program chosen
input x: f32[6, 5, 17]
input one: f32[6, 1, 17]
input t: f32[3, 1, 1, 17]
param w: f32[4, 17, 33]
param u: f32[4, 33, 17]
input which: i64[6]
input places: i32[3, 2]
input s: f32[6, 5, 33]
output y: f32[6, 5, 33]
output packed: f32[6, 5, 33]
output dots: f32[6, 1, 33]
output streamed: f32[3, 2, 1, 33]
output gated: f32[6, 5, 33]
output single: f32[1, 5, 33]
view ut = u: [4, 17, 33] strides [561, 1, 17]
view first = x: [1, 5, 17] strides [85, 17, 1]
view last = which: [1] strides [1] offset 5
y = matmul(x, w, mod(which, 4)) -> it + s
packed = matmul(x, ut, mod(which, 4)) with {path: tile, prepack: no}
dots = matmul(one, ut, select(which < 50, 0, int(3))) with {path: dot}
streamed = matmul(t, w, mod(places, 4)) with {path: stream} -> relu(it)
gated = matmul(x, w, mod(which, 4))
  let g = product(ut)
  -> it * g
single = matmul(first, w, mod(last, 4)) with {path: tile}
)"),
                       2, random);
  const auto complaint = [](const std::string& x, const std::string& w, const std::string& which,
                            const std::string& more = "") {
    const auto lowered = Lower("program p\ninput x: f32" + x + "\ninput w: f32" + w + "\ninput which: " + which +
                                   "\noutput y: f32[6, 5, 33]\ny = matmul(x, w, which)" + more,
                               nullptr);
    const auto* said = std::get_if<Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("[6, 5, 17]", "[4, 17, 33]", "i64[6]"), "taken");
  EXPECT_EQ(complaint("[6, 5, 17]", "[17, 33]", "i64[6]"),
            "matmul of [6, 5, 17], [17, 33] and [6]: wants A [.., M, K], B [G, K, N] and the number of a matrix of B "
            "for each batch, [..]");
  EXPECT_EQ(complaint("[6, 5, 16]", "[4, 17, 33]", "i64[6]"),
            "matmul of [6, 5, 16], [4, 17, 33] and [6]: A's columns (16) must be as many as B's rows (17)");
  EXPECT_EQ(complaint("[6, 5, 17]", "[4, 17, 33]", "i64[5]"),
            "matmul of [6, 5, 17], [4, 17, 33] and [5]: the batches do not broadcast");
  EXPECT_EQ(complaint("[5, 17]", "[4, 17, 33]", "i64[]"),
            "matmul of [5, 17], [4, 17, 33] and []: there must be a batch at least, if of one; take views with a "
            "dimension more");
  EXPECT_EQ(complaint("[6, 5, 17]", "[4, 17, 33]", "f32[6]"), "which matrix a batch has is a whole number");
  EXPECT_EQ(complaint("[6, 5, 17]", "[4, 17, 33]", "i64[6]", " by {heads: 1}"),
            "'heads' side by side have matrices of their own: none is chosen");
}

TEST(MatmulTest, PairsOfColumnsAreRotatedOnDevicesAlone) {
  const auto complaint = [](const std::string& chain, const std::string& settings = "") {
    const auto lowered = Lower(
        "program p\ninput x: f32[8, 16]\ninput w: f32[16, 128]\noutput y: f32[8, 128]\n"
        "y = matmul(x, w)" +
            settings + " -> " + chain,
        nullptr);
    const auto* said = std::get_if<Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_NE(complaint("it + rotated(64)").find("it has no two columns of a pair at hand"), std::string::npos);
  const std::string far =
      "'rotated' takes how far apart the columns of a pair are, a power of two up to 128, or 24, 48 or 96: "
      "try rotated(64)";
  for (const char* chain : {"rotated(0)", "rotated(3)", "rotated(256)", "rotated(it)", "rotated()", "rotated(1.5)"})
    EXPECT_EQ(complaint(chain), far) << chain;
  EXPECT_EQ(complaint("rotated(64) + rotated(32)"),
            "pairs are 64 columns apart or fewer, not both: rotate by one distance");
  EXPECT_EQ(complaint("it * u + rotated(64)", "\n  let u = product(w)"),
            "where pairs of columns are rotated there is one product: make the others before");
  EXPECT_EQ(complaint("it", " by {heads: 1}"),
            "matmul of [8, 16] and [16, 128]: 'heads' 1 are more than its batch dimensions; try 0");
}

TEST(MatmulTest, OfWholeNumbersItIsWhole) {
  std::mt19937 random(6);
  testing::ExpectRight(testing::MustCheck(R"(program wholes
input x: i8[37, 50]
param w: i8[45, 50]
input q: i64[2, 5, 17]
input p: i32[17, 9]
input s: f32[37, 1]
output y: i32[37, 45]
output scaled: bf16[37, 45]
output wide: i64[2, 5, 9]
view wt = w: [50, 45] strides [1, 50]
y = matmul(x, wt)
scaled = matmul(x, wt) -> real(it) * s
wide = matmul(q, p - 3) -> it * 2
)"),
                       2, random);
}

TEST(MatmulTest, WholeNumbersAndRealsAreNotMultiplied) {
  const auto complaint = [](const std::string& statement) {
    const auto parsed = Parse("program p\ninput x: i8[8, 8]\ninput z: f32[8, 8]\noutput y: f32[8, 8]\n" + statement);
    const auto checked = Check(std::get<Program>(parsed), nullptr);
    const auto* said = std::get_if<Complaint>(&checked);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("y = matmul(x, z)\n"), "matmul multiplies reals: write real(x) around whole numbers");
  EXPECT_EQ(complaint("y = matmul(real(x), z)\n"), "taken");
  EXPECT_EQ(complaint("y = matmul(x, x) let u = product(x) -> real(it)\n"),
            "whole numbers are multiplied one product at a time: make a statement of each");
  EXPECT_NE(complaint("y = matmul(x, x) with {path: tile} -> real(it)\n").find("it multiplies reals: write real(x)"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::dsl
