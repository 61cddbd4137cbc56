#include "base/packed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/box.h"

namespace hone {
namespace {

enum class Color : std::uint8_t { kRed, kGreen };
struct Range {
  double low = 0, high = 0;
};
struct Inner {
  int count = 0;
  std::string text;
};
struct Outer {
  double real = 0;
  bool yes = false;
  std::int64_t large = 0;
  Color color = Color::kRed;
  std::optional<Range> range;
  std::optional<int> maybe;
  Box<Inner> box;
  Seldom<Inner> seldom;
  std::vector<Inner> list;
  std::map<std::string, double> map;
};

template <SameAs<Inner> Of>
void Fields(Of& inner, auto&& field) {
  field("count", inner.count);
  field("text", inner.text, kAlways);
}
template <SameAs<Outer> Of>
void Fields(Of& outer, auto&& field) {
  field("real", outer.real);
  field("yes", outer.yes);
  field("large", outer.large);
  field("color", outer.color, 0);
  field("low", "high", outer.range);
  field("maybe", outer.maybe);
  field("box", outer.box);
  field("seldom", outer.seldom);
  field("list", outer.list, kIfAny);
  field("map", outer.map);
}

Outer Full() {
  Outer outer;
  outer.real = -0.1;
  outer.yes = true;
  outer.large = std::numeric_limits<std::int64_t>::min();
  outer.color = Color::kGreen;
  outer.range = Range{1, std::numeric_limits<double>::infinity()};
  outer.maybe = -7;
  outer.box = Inner{1, "one"};
  *outer.seldom = Inner{2, std::string("t\0wo", 4)};
  outer.list = {{3, ""}, {-4, std::string(300, 'x')}};
  outer.map = {{"a", 1}, {"", -2}};
  return outer;
}

std::string Bytes(const Outer& outer) {
  std::string bytes;
  Packer to(bytes);
  PackFields(outer, to);
  return bytes;
}

TEST(PackedTest, WhatIsPackedComesBack) {
  for (const Outer& before : {Outer(), Full()}) {
    const std::string bytes = Bytes(before);
    Unpacker from(bytes);
    Outer after;
    ASSERT_TRUE(UnpackFields(from, after));
    EXPECT_TRUE(from.AtEnd());
    EXPECT_EQ(Bytes(after), bytes);
    EXPECT_EQ(after.real, before.real);
    EXPECT_EQ(after.large, before.large);
    EXPECT_EQ(after.color, before.color);
    EXPECT_EQ(after.range.has_value(), before.range.has_value());
    EXPECT_EQ(after.maybe, before.maybe);
    EXPECT_EQ(after.box.has_value(), before.box.has_value());
    EXPECT_EQ(after.seldom.Written(), before.seldom.Written());
    EXPECT_EQ(std::as_const(after).seldom->text, std::as_const(before).seldom->text);
    ASSERT_EQ(after.list.size(), before.list.size());
    EXPECT_EQ(after.map, before.map);
  }
}

TEST(PackedTest, WhatIsCutShortIsRefused) {
  const std::string bytes = Bytes(Full());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Unpacker from(std::string_view(bytes).substr(0, size));
    Outer after;
    EXPECT_FALSE(UnpackFields(from, after)) << size;
  }
}

TEST(PackedTest, TheShapeNamesAllFieldsAndTheirKinds) {
  EXPECT_EQ(PackedShape<Inner>(), "count i text t ");
  EXPECT_EQ(PackedShape<Outer>(),
            "real r yes i large i color e low high ? maybe ? i box ? { count i text t } seldom ? { count i text t } "
            "list list { count i text t } map map r ");
}

TEST(PackedTest, NumbersOfAllSizesComeBack) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{-64},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    std::string bytes;
    Packer(bytes).Signed(number);
    Packer(bytes).Real(std::nan(""));
    Unpacker from(bytes);
    EXPECT_EQ(from.Signed(), number);
    EXPECT_TRUE(std::isnan(from.Real()));
    EXPECT_TRUE(from.ok() && from.AtEnd());
  }
}

}  // namespace
}  // namespace hone
