// Laws of the language: what is printed parses to the same again, the page docs/language.md is true, the tables are
// complete.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/files.h"
#include "base/testing/page.h"
#include "dsl/family.h"
#include "dsl/functions.h"
#include "dsl/way.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

// Random programs: well-formed as text, whether or not they make sense.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  Program Make() {
    Program program;
    program.name = Word();
    for (int i = Up(4); i-- > 0;) {
      program.declarations.push_back({.role = static_cast<Role>(Up(3)),
                                      .name = Word(),
                                      .dtype = Up(2) ? DType::kF32 : DType::kI64,
                                      .shape = Ints(0, 100),
                                      .at = {}});
    }
    for (int i = Up(3); i-- > 0;) {
      View view{
          .name = Word(), .base = Word(), .shape = Ints(0, 50), .strides = {}, .offset = Up(3) ? 0 : Up(100), .at = {}};
      for (std::size_t d = 0; d < view.shape.size(); ++d) view.strides.push_back(Up(40) - 10);
      program.views.push_back(std::move(view));
    }
    for (int i = 1 + Up(4); i-- > 0;) program.statements.push_back(MakeStatement());
    return program;
  }

 private:
  int Up(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string Word() {
    static const char* const kWords[] = {"x",   "y",   "z",      "w",      "input",   "view", "let", "over", "with",
                                         "h_1", "map", "offset", "output", "program", "it",   "inf", "nan"};
    return kWords[Up(17)];
  }
  std::vector<std::int64_t> Ints(int low, int high) {
    std::vector<std::int64_t> values;
    for (int i = Up(4); i-- > 0;) values.push_back(low + Up(high - low));
    return values;
  }
  double Real() {
    switch (Up(6)) {
      case 0: return Up(10);
      case 1: return -Up(1000) / 8.0;
      case 2: return std::numeric_limits<double>::infinity() * (Up(2) ? 1 : -1);
      case 3: return std::uniform_real_distribution<double>(-1, 1)(random_);
      case 4: return std::ldexp(1.0, Up(200) - 100);
      default: return 1e-5;
    }
  }
  TermPtr MakeTerm(int depth) {
    const int kind = depth == 0 ? Up(2) : Up(7);
    if (kind == 0) return Number(Real());
    if (kind == 1) return Up(4) ? Name(Word()) : It();
    if (kind == 2) {
      static const char* const kOps[] = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!="};
      return Call(kOps[Up(10)], {MakeTerm(depth - 1), MakeTerm(depth - 1)});
    }
    if (kind == 3) return Call("neg", {MakeTerm(depth - 1)});
    if (kind == 4) return FoldOver(Up(2) ? "sum" : "argmax", Indices(), MakeTerm(depth - 1));
    std::vector<TermPtr> arguments;
    for (int i = Up(4); i-- > 0;) arguments.push_back(MakeTerm(depth - 1));
    if (kind == 5) return Element(Word(), std::move(arguments));
    return Call(Up(2) ? "select" : "sum", std::move(arguments));
  }
  std::vector<LoopIndex> Indices() {
    std::vector<LoopIndex> indices;
    for (int i = Up(3); i-- > 0;) indices.push_back({.name = Word(), .extent = Up(9)});
    return indices;
  }
  Statement MakeStatement() {
    Statement statement;
    statement.target = Word();
    statement.family = Up(3) ? Word() : "nest";
    if (Up(2)) statement.loops = Indices();
    if (Up(4) == 0) statement.attributes["sequence"] = {Up(3)};
    if (Up(4) == 0) statement.attributes["along"] = {Up(3), Up(2)};
    if (Up(2)) statement.variant = "sum";
    for (int i = Up(3); i-- > 0;) statement.operands.push_back(MakeTerm(4));
    for (int axis = 0; axis < 5; ++axis) {
      if (Up(4) == 0) statement.axes.push_back(axis);
    }
    for (int i = Up(3); i-- > 0;) {
      Setting setting;
      if (const int kind = Up(3); kind == 0)
        setting.value = std::int64_t{Up(100)};
      else if (kind == 1)
        setting.value = std::string("both");
      else
        setting.value = std::vector<std::int64_t>{Up(100), Up(100), 7};
      statement.settings[Word()] = setting;
    }
    for (int i = Up(3); i-- > 0;) statement.lets.push_back({.name = Word(), .value = MakeTerm(3), .at = {}});
    for (int i = Up(3); i-- > 0;) statement.epilogue.push_back(MakeTerm(3));
    if (Up(3) == 0) {
      statement.has_target_shape = true;
      statement.target_shape = Ints(1, 60);
    }
    return statement;
  }

  std::mt19937 random_;
};

TEST(LanguageTest, WhatIsPrintedParsesToTheSameText) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const std::string text = Print(Maker(seed).Make());
    const auto parsed = Parse(text);
    if (const auto* complaint = std::get_if<Complaint>(&parsed)) FAIL() << ToString(*complaint) << "\n" << text;
    ASSERT_EQ(Print(std::get<Program>(parsed)), text);
  }
}

TEST(LanguageTest, DamagedTextIsRefusedNotCrashedOn) {
  std::mt19937 random(7);
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::string text = Print(Maker(seed).Make());
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random() % 256); break;
        case 1: text.erase(at, 1 + random() % 5); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 10)); break;
      }
      if (text.empty()) text = " ";
    }
    auto parsed = Parse(text);
    if (const auto* complaint = std::get_if<Complaint>(&parsed)) {
      EXPECT_FALSE(complaint->message.empty());
      EXPECT_GT(complaint->at.line, 0);
    } else {
      (void)Check(std::get<Program>(parsed), nullptr);
    }
  }
}

TEST(LanguageTest, DeepNestingIsAComplaint) {
  const std::string deep = "program p\ninput x: f32[4]\noutput y: f32[4]\ny = map(" + std::string(100000, '(') + "x";
  EXPECT_TRUE(std::holds_alternative<Complaint>(Parse(deep)));
  const std::string minus = "program p\ninput x: f32[4]\noutput y: f32[4]\ny = map(" + std::string(100000, '-') + "x)";
  EXPECT_TRUE(std::holds_alternative<Complaint>(Parse(minus)));
  // A chain of operators is as deep as it is long.
  const auto chain = [](int operators) {
    std::string text = "program p\ninput x: f32[4]\noutput y: f32[4]\ny = map(x";
    for (int i = 0; i < operators; ++i) text += " + x";
    return Parse(text + ")\n");
  };
  EXPECT_TRUE(std::holds_alternative<Program>(chain(4000)));
  EXPECT_TRUE(std::holds_alternative<Complaint>(chain(100000)));
}

TEST(LanguageTest, EveryOperatorOfExpressionsIsAFunction) {
  for (int op = 0; op <= static_cast<int>(UnaryOp::kNot); ++op) {
    EXPECT_NE(FindFunction(hone::Name(static_cast<UnaryOp>(op)), 1), nullptr) << hone::Name(static_cast<UnaryOp>(op));
  }
  for (int op = 0; op <= static_cast<int>(BinaryOp::kXor); ++op) {
    EXPECT_NE(FindFunction(hone::Name(static_cast<BinaryOp>(op)), 2), nullptr) << hone::Name(static_cast<BinaryOp>(op));
  }
}

const std::string& LanguagePage() {
  static const std::string page = testing::Page("language.md");
  return page;
}

TEST(LanguageTest, ThePageNamesEveryFamilyKnobAndAttributeAndNoOther) {
  const std::string families = testing::Section(LanguagePage(), "## Families");
  std::vector<std::string> headings, names;
  for (std::size_t at = families.find("\n### "); at != std::string::npos; at = families.find("\n### ", at + 1))
    headings.push_back(families.substr(at + 5, families.find('\n', at + 1) - at - 5));
  for (const Family* family : AllFamilies()) names.emplace_back(family->name);
  EXPECT_EQ(headings, names);
  for (const Family* family : AllFamilies()) {
    SCOPED_TRACE(family->name);
    const std::string section = testing::Section(families, fmt::format("### {}", family->name));
    const std::string head = fmt::format("### {}\n\n`{}`\n\n{}\n", family->name, family->grammar, family->doc);
    EXPECT_EQ(section.substr(0, head.size()), head);
    const auto holds = [&](const char* header, const auto& rows) {
      std::vector<std::string> known;
      for (const auto& row : rows) {
        known.emplace_back(row.name);
        const std::string text = fmt::format("| `{}` | {} |", row.name, row.doc);
        EXPECT_NE(section.find(text), std::string::npos) << "docs/language.md lacks the row\n" << text;
      }
      EXPECT_EQ(testing::FirstColumn(section, header), known);
    };
    holds("knob | what it sets", KnobRows(*family, DeviceKind::kCpu));
    holds("knob on CUDA | what it sets", KnobRows(*family, DeviceKind::kCuda));
    holds("attribute | what it says", family->attributes);
  }
}

TEST(LanguageTest, ThePageNamesEveryFunctionAndNoOther) {
  const std::string section = testing::Section(LanguagePage(), "## Functions");
  std::vector<std::string> names;
  for (const auto& function : AllFunctions()) {
    if (function.doc.starts_with("operator")) continue;
    names.emplace_back(function.name);
    const std::string row = fmt::format("| `{}` | {} | {} |", function.name, function.arguments, function.doc);
    EXPECT_NE(section.find(row), std::string::npos) << "docs/language.md lacks the row\n" << row;
  }
  EXPECT_EQ(testing::FirstColumn(section, "function | arguments | value"), names);
}

TEST(LanguageTest, ThePageNamesEveryTypeFoldAndNoOther) {
  std::string types, folds;
  for (const DTypeRow& row : kDTypes) types += fmt::format("{}{}", types.empty() ? "" : " | ", row.name);
  EXPECT_NE(LanguagePage().find("\nTYPE        = " + types + "\n"), std::string::npos) << types;
  const std::string nest = testing::Section(LanguagePage(), "### nest");
  for (int op = 0; op <= static_cast<int>(ReduceOp::kArgMin); ++op) {
    const std::string word(hone::Name(static_cast<ReduceOp>(op)));
    EXPECT_NE(nest.find("`" + word + "`"), std::string::npos) << word;
  }
}

TEST(LanguageTest, EveryExampleOfThePageParsesChecksAndIsCanonical) {
  const std::string& page = LanguagePage();
  int examples = 0;
  for (std::size_t at = page.find("```hk\n"); at != std::string::npos; at = page.find("```hk\n", at + 1)) {
    const std::size_t begin = at + 6;
    const std::string text = page.substr(begin, page.find("```", begin) - begin);
    ++examples;
    const auto parsed = Parse(text);
    if (const auto* complaint = std::get_if<Complaint>(&parsed)) {
      ADD_FAILURE() << ToString(*complaint) << "\n" << text;
      continue;
    }
    EXPECT_EQ(Print(std::get<Program>(parsed)), text);
    // Some families have kernels for a device alone.
    auto checked = Check(std::get<Program>(parsed), nullptr);
    if (std::holds_alternative<Complaint>(checked))
      checked = Check(std::get<Program>(parsed), nullptr, TypicalDevice());
    if (const auto* complaint = std::get_if<Complaint>(&checked)) ADD_FAILURE() << ToString(*complaint) << "\n" << text;
  }
  EXPECT_GE(examples, 5);
}

}  // namespace
}  // namespace hone::dsl
