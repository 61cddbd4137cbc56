#include "oracle/keyed_text.h"

#include "oracle/product_tiles.h"

namespace hone {

void KeyedText::FindFolds(const Stage& stage) {
  ForgetFolds();
  if (style_ != Style::kOracle || stage.sequence >= 0) return;
  stage_lists_ = ListsOf(stage.vars, stage.value, [&](const Expr& e) { return IsExact(e); }, fewest_looks_);
  stage_ranks_ = RanksOf(stage.vars, stage.value, fewest_looks_);
}

void KeyedText::ForgetFolds() {
  stage_lists_ = {};
  stage_ranks_ = {};
}

const ListedFold* KeyedText::Listed(const ExprNode& fold) const {
  const auto it = stage_lists_.folds.find(&fold);
  return it == stage_lists_.folds.end() ? nullptr : &it->second;
}

void KeyedText::Indices(const std::vector<IndexVar>& vars, std::string flat) {
  std::int64_t left = Extent(vars), stride = 1;
  for (std::size_t d = vars.size(); d-- > 0;) {
    const std::string quotient = stride == 1 ? flat : fmt::format("{} / {}", flat, stride);
    left /= vars[d].extent;
    if (vars[d].extent == 1)
      Line("constexpr std::int64_t {} = 0;", IndexName(vars[d]));
    else
      Line("const std::int64_t {} = {};", IndexName(vars[d]),
           left == 1 ? quotient : fmt::format("{} % {}", quotient, vars[d].extent));
    stride *= vars[d].extent;
  }
}

void KeyedText::WriteListOfTerm(const KeyLists& lists) {
  Line("std::int64_t list = -1;");
  Line("bool sure = true;");
  Line("{{");
  ++depth_;
  Indices(lists.over, "fold");
  std::string guard = "true";
  if (lists.guard) {
    Scope scope(*this, lists.guard);
    guard = fmt::format("Plain({})", Emit(lists.guard));
  }
  Line("if ({}) {{", guard);
  ++depth_;
  std::string inside, number;
  for (const auto& [key, index] : lists.keys) {
    const std::string name = fmt::format("r{}", temporaries_++);
    Scope scope(*this, key);
    const std::string made = Emit(key);
    Line("const auto {0}_key = {1};", name, made);
    Line("const std::int64_t {0} = Plain({0}_key);", name);
    if (!lists.exact) Line("sure = sure && IsSure({}_key);", name);
    inside += fmt::format("{0}{1} >= 0 && {1} < {2}", inside.empty() ? "" : " && ", name, index.extent);
    number = number.empty() ? name : fmt::format("({}) * {} + {}", number, index.extent, name);
  }
  Line("if ({}) list = {};", inside, number);
  CloseLoops(2);
}

std::string KeyedText::ListText(const KeyLists& lists) const {
  std::vector<IndexVar> indices;
  for (const auto& key : lists.keys) indices.push_back(key.index);
  return FlatText(indices);
}

std::string KeyedText::FlatText(const std::vector<IndexVar>& vars) const {
  std::string flat = "0";
  for (std::size_t d = 0; d < vars.size(); ++d)
    flat = d == 0 ? IndexName(vars[d]) : fmt::format("({}) * {} + {}", flat, vars[d].extent, IndexName(vars[d]));
  return flat;
}

const char* KeyedText::KeyType(const SortedRanks& ranks) {
  return ranks.fold.element->type == ScalarType::kReal ? "double" : "std::int64_t";
}

void KeyedText::WriteRankKey(const SortedRanks& ranks, std::string_view before, std::string_view after) {
  Indices(ranks.others, "other");
  Line("const std::int64_t {} = place;", IndexName(ranks.fold.along));
  Scope scope(*this, ranks.fold.element);
  const std::string made = Emit(ranks.fold.element);
  Line("{}RankKeyOf<{}>({}){};", before, KeyType(ranks), made, after);
}

std::string KeyedText::RankText(const ExprNode& fold) const {
  const std::size_t number = stage_ranks_.folds.at(&fold);
  const SortedRanks& ranks = stage_ranks_.ranks[number];
  return fmt::format("RankFrom<{}>(ranks{}[({}) * {} + {}])", FoldType(fold), number, FlatText(ranks.others),
                     ranks.Count(), IndexName(ranks.fold.along));
}

bool KeyedText::WriteExactTerm(const ExprNode& e, const std::string& name) {
  if (e.reduce != ReduceOp::kSum || e.type != ScalarType::kReal) return false;
  const Expr& term = e.operands[0];
  const bool product = IsExactProduct(term);
  if (!product && !IsExact(term)) return false;
  Scope scope(*this, term);
  if (product) {
    const std::string a = Emit(term->operands[0]);
    const std::string b = Emit(term->operands[1]);
    Line("{}.AddExactProduct({}, {});", name, ExactText(a), ExactText(b));
  } else {
    const std::string a = Emit(term);
    Line("{}.AddExact({});", name, ExactText(a));
  }
  return true;
}

void KeyedText::WriteScaling(const ExprNode& e, const std::string& name) {
  if (e.reduce == ReduceOp::kSum && e.type == ScalarType::kReal && IsExactProduct(e.operands[0]))
    Line("{}.ScaleExactProducts();", name);
}

}  // namespace hone
