#include "index/language.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace hone {
namespace {

// "kind scope::name first-last" of each symbol.
std::vector<std::string> Read(std::string_view path, std::string_view text) {
  const Language* language = LanguageOf(path);
  if (!language) return {"no language"};
  std::vector<std::string> rows;
  for (const Symbol& one : language->symbols(text))
    rows.push_back(fmt::format("{} {}{}{} {}-{}", one.kind, one.scope, one.scope.empty() ? "" : "::", one.name,
                               one.first, one.last));
  return rows;
}
using Rows = std::vector<std::string>;

TEST(LanguageTest, SuffixesAreOfOneLanguageEach) {
  std::set<std::string_view> seen;
  for (const Language* language : AllLanguages()) {
    for (const std::string_view suffix : language->suffixes) EXPECT_TRUE(seen.insert(suffix).second) << suffix;
  }
  EXPECT_EQ(LanguageOf("a/b.cuh")->name, "cpp");
  EXPECT_EQ(LanguageOf("setup.py")->name, "python");
  EXPECT_EQ(LanguageOf("README.md"), nullptr);
}

TEST(LanguageTest, CppTypesAndFunctionsHaveTheirScopesAndLines) {
  EXPECT_EQ(
      Read("layout.hpp", R"(#pragma once
namespace cute {
template <class Shape, class Stride = LayoutLeft::Apply<Shape>>
struct Layout : private tuple<Shape, Stride> {
  CUTE_HOST_DEVICE constexpr Layout(Shape const& shape = {}) : tuple<Shape, Stride>(shape), rank_{0}, cosize_(1) {
    rank_ = 1;
  }
  template <class Coord>
  CUTE_HOST_DEVICE constexpr auto operator()(Coord const& coord) const { return coord; }
  static constexpr int rank = 2;
 private:
  using type = Shape;
};
template <class... Ts>
CUTE_HOST_DEVICE constexpr
auto make_layout(Ts const&... ts) -> Layout<Ts...> {
  auto f = [](int x) { return x; };
  return {};
}
struct Forward;
void declared(int);
enum class Major { K, MN };
}  // namespace cute
)"),
      (Rows{"struct cute::Layout 3-13", "function cute::Layout::Layout 5-7", "function cute::Layout::operator() 8-9",
            "alias cute::Layout::type 12-12", "function cute::make_layout 14-19", "enum cute::Major 22-22"}));
}

TEST(LanguageTest, CppKernelsMacrosAliasesAndMembersOutsideAreRead) {
  EXPECT_EQ(Read("k.cu", R"(#define TILE(x) \
  ((x) * 2)
typedef unsigned int uint;
extern "C" {
template <int kN>
__global__ void __launch_bounds__(256, 1) scale(float* x, float const* y) {
  if (x[0] > 1) { x[0] = 0; }
}
}
struct alignas(16) Pack { float v[4]; };
class HONE_API Judge final : public Base {
 public:
  struct Inner { int x; };
};
void Judge::Inner::Run(std::function<void(int)> f) {}
std::function<void(int)> Make() { return {}; }
Judge::~Judge() {}
template <class T> concept Small = sizeof(T) < 4;
constexpr int kTable[] = {1, 2, 3};
auto lambda = [](int a) { return a; };
inline bool operator==(Pack const& a, Pack const& b) { return true; }
struct Pack Give(int n) { return {}; }
template <> double pi<double>() { return 3; }
)"),
            (Rows{"macro TILE 1-2", "alias uint 3-3", "kernel scale 5-8", "struct Pack 10-10", "class Judge 11-14",
                  "struct Judge::Inner 13-13", "function Judge::Inner::Run 15-15", "function Make 16-16",
                  "function Judge::~Judge 17-17", "concept Small 18-18", "function operator== 21-21",
                  "function Give 22-22", "function pi 23-23"}));
}

TEST(LanguageTest, BothBranchesOfAnIfAreReadFromTheSameScopes) {
  EXPECT_EQ(Read("a.h", R"(namespace n {
#if defined(A)
void f(int a) {
#else
void f(float a) {
#endif
}
void g() {}
}
)"),
            (Rows{"function n::f 3-3", "function n::f 5-7", "function n::g 8-8"}));
}

TEST(LanguageTest, TextsInStringsAndCommentsDefineNothing) {
  EXPECT_EQ(Read("a.cc", R"x(// struct A {};
/* void b() { */
const char* s = "struct C { ' ";
const char* r = R"(void d() { } ")";
char q = '{';
int n = 1'000'000;
void real() {}
)x"),
            (Rows{"function real 7-7"}));
}

TEST(LanguageTest, WhatIsNoProgramEndsAllTheSame) {
  std::string braces(100'000, '{'), closers(100'000, '}'), brackets(100'000, '('), angles = "template <";
  for (int i = 0; i < 50'000; ++i) angles += "<a ";
  std::string branches = "void f(int a) {\n";
  for (int i = 0; i < 20'000; ++i) branches += "#if A\nint x(\n#elif B\nvoid g() {\n#else\n}\n#endif\n";
  for (const std::string& text :
       {braces, closers, brackets, angles, branches, std::string("R\"("), std::string("#define"), std::string("'"),
        std::string("\\"), std::string("operator"), std::string("struct"), std::string("template"),
        std::string("#if\n#if\n}\n#else\n{"), std::string("using"), std::string("~(){"), std::string("::a(){")}) {
    for (const Language* language : AllLanguages()) {
      for (const Symbol& one : language->symbols(text)) {
        EXPECT_LE(one.first, one.last);
        EXPECT_LE(one.signature.size(), kLongestSignature + 8);
      }
    }
  }
}

TEST(LanguageTest, PythonIsReadByItsIndentation) {
  EXPECT_EQ(Read("a.py", R"("""
def not_this(): pass
"""
class Model(Base):
    # class Comment:
    def forward(self, x,
                y=(1, 2)):
        def inner(): return 1
        return x

    async def wait(self): pass

s = 'class No: '
def main():
    pass
)"),
            (Rows{"class Model 4-11", "function Model::forward 6-9", "function Model.forward::inner 8-8",
                  "function Model::wait 11-11", "function main 14-15"}));
}

TEST(LanguageTest, ProgramsOfTheKernelLanguageAreSymbols) {
  EXPECT_EQ(Read("a.hk", "# comment\nprogram softmax_rows\ninput x: f32[2]\n"), (Rows{"program softmax_rows 2-3"}));
}

TEST(LanguageTest, SignaturesAreOneLineWithoutComments) {
  const auto symbols =
      LanguageOf("a.h")->symbols("template <class T>  // what\nvoid\n  f(T /* it */ x,\n    int y) {}\n");
  ASSERT_EQ(symbols.size(), 1u);
  EXPECT_EQ(symbols[0].signature, "template <class T> void f(T x, int y)");
  EXPECT_EQ(symbols[0].line, 3);
}

}  // namespace
}  // namespace hone
