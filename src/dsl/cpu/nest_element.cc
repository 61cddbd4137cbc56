#include "dsl/cpu/nest_element.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "dsl/cpu/expr_writer.h"

namespace hone::dsl {

void ElementWriter::Open(const IndexVar& index, const std::string& name) {
  Reserve(index, name);
  open_.insert(index.id);
}

void ElementWriter::Cut(const IndexVar& index, const std::string& name, Span span) {
  Reserve(index, name);
  (void)writer_.Fresh(span.begin);
  (void)writer_.Fresh(span.end);
  spans_[index.id] = std::move(span);
}

void ElementWriter::Write(Share share) {
  share_ = share;
  std::set<int> fixed = open_;
  for (const auto& [id, span] : spans_) fixed.insert(id);
  element_ = places_ != nullptr ? places_->element : MakeFlat(kernel_, fixed);
  for (const auto& index : kernel_.space) {
    if (spans_.contains(index.id)) {  // an innermost one that is cut: a loop all the same, which nothing merges with
      element_.indices.push_back(index);
    }
  }
  Plan();
  const Expr& value = element_.value;
  const Expr guard = Guard();
  MakeAllReady();
  Pragma(SharedLoops());
  for (std::size_t n = 0; n < loops_.size(); ++n) {
    if (leaf_lanes_ && n == before_lanes_) lane_ = leaf_.id;
    if (n > 0 || lane_ >= 0) MakeAllReady();
    if (loops_[n].block > 0)
      OpenBlocks(loops_[n]);
    else
      OpenLoop(loops_[n].index);
  }
  if (has_leaf_) {
    if (leaf_lanes_) lane_ = leaf_.id;
    MakeAllReady();
    if (!leaf_shared_ && !HasUnready(value, guard)) writer_.Line("#pragma omp simd");
    OpenLoop(leaf_);
    lane_ = -1;
  }
  MakeAllReady();
  Store();
  for (std::size_t n = 0; n < loops_.size() + (has_leaf_ ? 1 : 0); ++n) writer_.Close();
  if (single_) writer_.Close();
}

void ElementWriter::MakeAllReady() {
  if (places_ != nullptr && places_->condition) MakeReady(places_->condition, {});
  MakeReady(element_.value, Guard());
}

std::string ElementWriter::NameOf(const IndexVar& index) {
  if (const auto it = names_.find(index.id); it != names_.end()) return it->second;
  const auto named = kernel_.index_names.find(index.id);
  const std::string name = NewName(named == kernel_.index_names.end() ? "i" : Spelled(named->second));
  return names_[index.id] = name;
}

std::string ElementWriter::NewName(const std::string& hint) {
  std::string name;
  do name = writer_.Fresh(hint);
  while (!used_.insert(name).second);
  return name;
}

void ElementWriter::Reserve(const IndexVar& index, const std::string& name) {
  names_[index.id] = name;
  used_.insert(name);
  (void)writer_.Fresh(name);
}

void ElementWriter::Plan() {
  std::vector<IndexVar>& indices = element_.indices;
  std::set<int> folded;  // what folds hang on
  const auto folds = OuterFolds(element_.value, Guard());
  for (const auto& use : folds) folded.merge(FreeIndices(use.fold));
  if (indices.empty()) return;
  const IndexVar last = indices.back();
  const bool last_folded = folded.contains(last.id);
  const bool lanes = last_folded && PrefersLanes(folds, last);
  std::vector<Loop> inner;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + 1 == indices.size() && (lanes || !last_folded)) break;
    if (folded.contains(indices[i].id)) {
      loops_.push_back({indices[i], 0});
      outer *= indices[i].extent;
    } else {
      inner.push_back({indices[i], 0});
      if (folds.empty()) outer *= indices[i].extent;
    }
  }
  if (!last_folded || lanes) {
    has_leaf_ = true;
    leaf_ = last;
  } else if (!inner.empty()) {
    has_leaf_ = true;
    leaf_ = inner.back().index;
    inner.pop_back();
  }
  leaf_lanes_ = lanes;
  before_lanes_ = loops_.size();
  const std::int64_t block = Block(last, lanes);
  const bool cut = !spans_.contains(last.id) && last.extent > block;
  const bool share_leaf = share_ == Share::kWake && writer_.parallel() && outer < kFewOuter;
  if (cut && lanes) {
    loops_.push_back({last, block});
    ++before_lanes_;
    loops_.insert(loops_.end(), inner.begin(), inner.end());
  } else {
    loops_.insert(loops_.end(), inner.begin(), inner.end());
    if (cut && !last_folded && folded.empty() && share_leaf && !loops_.empty()) loops_.push_back({last, block});
  }
}

std::int64_t ElementWriter::Block(const IndexVar& last, bool lanes) const {
  const std::int64_t block = std::max<std::int64_t>(IntSetting(kernel_, "block"), 1);
  if (!lanes) return std::max<std::int64_t>(block, 1024);
  // Without loops around it, the blocks are what threads share.
  if (before_lanes_ == 0 && share_ == Share::kWake && writer_.parallel())
    return std::min(block, (last.extent / 8 + 15) / 16 * 16);
  if (last.extent <= 2 * block) return last.extent;
  for (std::int64_t b = block; b >= std::max<std::int64_t>(block / 2, 16); --b) {
    if (last.extent % b == 0 && b % 8 == 0) return b;
  }
  return block;
}

bool ElementWriter::PrefersLanes(const std::vector<GuardedFold>& folds, const IndexVar& last) const {
  const std::string inner = WordSetting(kernel_, "inner");
  if (inner == "result") return true;
  if (inner == "fold") return false;
  int far_lanes = 0, far_rows = 0;
  std::int64_t longest = 0;
  const std::function<void(const Expr&)> count = [&](const Expr& fold) {
    const IndexVar& row = fold->over.back();
    longest = std::max(longest, row.extent);
    Visit(fold->operands[0], [&](const ExprNode& node) {
      if (node.kind != Kind::kLoad) return;
      const auto along_last = StrideAlong(node.operands[0], last.id), along_row = StrideAlong(node.operands[0], row.id);
      far_lanes += !along_last || (*along_last != 0 && *along_last != 1) ? 1 : 0;
      far_rows += !along_row || (*along_row != 0 && *along_row != 1) ? 1 : 0;
    });
  };
  for (const auto& use : folds) {
    if (FreeIndices(use.fold).contains(last.id)) count(use.fold);
  }
  if (last.extent < 8) return longest < 16 && last.extent > 1;
  return far_lanes <= far_rows || longest < 16;
}

std::size_t ElementWriter::SharedLoops() {
  const std::set<int> open = open_;
  std::size_t count = 0;
  while (count < (leaf_lanes_ ? before_lanes_ : loops_.size())) {
    open_.insert(loops_[count].index.id);
    ++count;
    if (loops_[count - 1].block > 0 || AnyReady(element_.value, Guard())) break;
  }
  open_ = open;
  return count;
}

void ElementWriter::Pragma(std::size_t shared) {
  if (share_ == Share::kAlone || (share_ == Share::kWake && !writer_.parallel())) return;
  const bool leaf = loops_.empty() && has_leaf_ && !leaf_lanes_;
  leaf_shared_ = leaf;
  if (shared == 0 && !leaf) {
    if (share_ == Share::kRegion) {
      writer_.Line("#pragma omp single");
      writer_.Open("");
      single_ = true;
    } else {
      writer_.Line("(void)threads;");
    }
    return;
  }
  const bool simd = leaf && !HasUnready(element_.value, Guard());
  writer_.Line(fmt::format("#pragma omp {}for{}{}{} schedule(static)", share_ == Share::kWake ? "parallel " : "",
                           simd ? " simd" : "", shared > 1 ? fmt::format(" collapse({})", shared) : "",
                           share_ == Share::kWake ? fmt::format(" num_threads({})", writer_.ThreadsText()) : ""));
}

void ElementWriter::OpenLoop(const IndexVar& index) {
  const std::string name = NameOf(index);
  const Span span = SpanOf(index);
  writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", name, span.begin, name, span.end, name));
  open_.insert(index.id);
}

void ElementWriter::OpenBlocks(const Loop& loop) {
  const std::string name = NameOf(loop.index);
  const Span span = {.begin = NewName(name + "0"), .end = NewName(name + "_end"), .size = loop.block};
  const std::int64_t extent = loop.index.extent;
  writer_.Open(
      fmt::format("for (long {} = 0; {} < {}; {} += {})", span.begin, span.begin, extent, span.begin, loop.block));
  writer_.Line(extent % loop.block == 0 ? fmt::format("const long {} = {} + {};", span.end, span.begin, loop.block)
                                        : fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", span.end,
                                                      span.begin, loop.block, extent, span.begin, loop.block, extent));
  spans_[loop.index.id] = span;
}

Span ElementWriter::SpanOf(const IndexVar& index) const {
  const auto it = spans_.find(index.id);
  return it != spans_.end() ? it->second
                            : Span{.begin = "0", .end = fmt::format("{}", index.extent), .size = index.extent};
}

std::string ElementWriter::TargetText() const {
  std::string address;
  std::int64_t step = 1;
  std::map<int, std::int64_t> strides;
  for (std::size_t d = kernel_.space.size(); d-- > 0; step *= kernel_.space[d].extent) {
    if (kernel_.space[d].extent > 1) strides[kernel_.space[d].id] = step;
  }
  for (const auto& index : kernel_.space) {
    if (!open_.contains(index.id) || !strides.contains(index.id) || not_row_.contains(index.id)) continue;
    const std::int64_t stride = strides[index.id];
    address += address.empty() ? "" : " + ";
    address += stride == 1 ? names_.at(index.id) : fmt::format("{} * {}", names_.at(index.id), stride);
  }
  return fmt::format("{}[{}]", row_.empty() ? writer_.TargetName() : row_, address.empty() ? "0" : address);
}

void ElementWriter::Store() {
  const Expr guard = Guard();
  OpenGuard(guard);
  bool stays = false;
  const std::string to = places_ == nullptr
                             ? TargetText()
                             : fmt::format("{}[{}]", writer_.TargetName(), InPlace(places_->address, guard, stays));
  const std::string text = TextOf(element_.value, guard);
  writer_.Line(fmt::format("{} = {};", to, text));
  CloseGuard(guard);
}

void ElementWriter::WritePlaces(Share share, const UpdatedPlaces& places) {
  places_ = &places;
  Write(share);
}

void ElementWriter::WriteRow(const std::string& array) {
  row_ = array;
  not_row_ = open_;
  Write(Share::kAlone);
}

std::string ElementWriter::Constant(const Expr& expr, const Expr& path, const std::string& hint) {
  const std::string text = TextOf(expr, path);
  const std::string name = writer_.Fresh(hint);
  writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(expr->type), name, text));
  return name;
}

std::string ElementWriter::Texts(const Expr& expr, const Expr& path, bool in_place) {
  bool stays = false;
  const Expr plain = Plain(expr, path, stays);
  ExprWriter writer(writer_, [&](const ExprNode& leaf) { return TextAt(leaf).text; });
  writer.KeepInBranches([&](const ExprNode& node) {
    return MayTrap(node) || ((node.kind == Kind::kLoad || node.kind == Kind::kValue) && TextAt(node).stays);
  });
  if (in_place) writer.KeepInPlace();
  return writer.Text(plain);
}

const ElementWriter::Text& ElementWriter::TextAt(const ExprNode& leaf) const {
  return texts_[static_cast<std::size_t>(leaf.kind == Kind::kLoad ? leaf.buffer : leaf.value.number)];
}

Expr ElementWriter::AsText(std::string text, ScalarType type, bool memory, bool stays) {
  std::size_t i = 0;
  while (i < texts_.size() && (texts_[i].text != text || texts_[i].stays != stays)) ++i;
  if (i == texts_.size()) texts_.push_back({std::move(text), stays});
  const int number = static_cast<int>(i);
  return memory ? Load(number, {}, type) : Value({NamedValue::Kind::kText, number}, type);
}

Expr ElementWriter::Plain(const Expr& e, const Expr& path, bool& stays) {
  stays |= MayTrap(*e);
  switch (e->kind) {
    case Kind::kConst: return e;
    case Kind::kIndex: return AsText(names_.at(e->index.id), ScalarType::kInt, false, false);
    case Kind::kReduce: {
      const Ready* ready = Find(e, path);
      HONE_CHECK(ready != nullptr, "a fold is used before it is made");
      return AsText(ready->text, e->type, false, false);
    }
    case Kind::kLoad: {
      bool inner = e->may_miss;
      std::string text = ElementText(*e, path, inner);
      stays |= inner;
      return AsText(std::move(text), e->type, true, inner);
    }
    case Kind::kSelect:
      return Select(Plain(e->operands[0], path, stays), Plain(e->operands[1], BothHold(path, e->operands[0]), stays),
                    Plain(e->operands[2], BothHold(path, Apply(UnaryOp::kNot, e->operands[0])), stays));
    default: break;
  }
  // Of what is not negative, C++'s own division does.
  if (e->kind == Kind::kBinary && e->type == ScalarType::kInt &&
      (e->binary == BinaryOp::kFloorDiv || e->binary == BinaryOp::kFloorMod) && e->operands[1]->kind == Kind::kConst &&
      e->operands[1]->whole > 0) {
    const auto range = RangeOf(e->operands[0]);
    if (range && range->low >= 0) {
      const Expr dividend = Plain(e->operands[0], path, stays);
      if (e->binary == BinaryOp::kFloorMod) return Apply(BinaryOp::kFmod, dividend, e->operands[1]);
      bool inner = false;
      const std::string text = fmt::format("({}) / {}", InPlace(e->operands[0], path, inner), e->operands[1]->whole);
      return AsText("(" + text + ")", ScalarType::kInt, true, inner);
    }
  }
  std::vector<Expr> operands;
  for (const auto& operand : e->operands) operands.push_back(Plain(operand, path, stays));
  return WithOperands(e, std::move(operands));
}

std::string ElementWriter::InPlace(const Expr& expr, const Expr& path, bool& stays) {
  (void)Plain(expr, path, stays);
  return Texts(expr, path, /*in_place=*/true);
}

std::string ElementWriter::ElementText(const ExprNode& load, const Expr& path, bool& stays) {
  const int buffer_number = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
  const KernelBuffer& buffer = program_.buffers[static_cast<std::size_t>(buffer_number)];
  const LinearForm form = LinearOf(load.operands[0]);
  std::string text;
  const auto add = [&](const std::string& term, std::int64_t times) {
    const std::string scaled = times == 1 || times == -1 ? term : fmt::format("{} * {}", term, std::abs(times));
    text += text.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
    text += scaled;
  };
  // The largest steps first, as one writes addresses.
  std::vector<std::pair<int, std::int64_t>> terms(form.sum.coefficient.begin(), form.sum.coefficient.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  for (const auto& [index, times] : terms) add(names_.at(index), times);
  for (const auto& [rest, times] : form.rest) add("(" + InPlace(rest, path, stays) + ")", times);
  if (form.sum.constant != 0 || text.empty())
    text += text.empty() ? fmt::format("{}", form.sum.constant)
                         : fmt::format(" {} {}", form.sum.constant < 0 ? "-" : "+", std::abs(form.sum.constant));
  text = fmt::format("{}[{}]", writer_.BufferName(buffer_number), text);
  const std::string type = writer_.TypeName(ScalarOf(buffer.dtype));
  const bool same = type == ElementType(buffer.dtype) || buffer.dtype == DType::kI64;
  return same ? text : fmt::format("static_cast<{}>({})", type, text);
}

bool ElementWriter::MayTrap(const ExprNode& node) {
  if (node.kind != Kind::kBinary || node.type != ScalarType::kInt) return false;
  const bool divides =
      node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod || node.binary == BinaryOp::kFmod;
  return divides && !(node.operands[1]->kind == Kind::kConst && node.operands[1]->whole != 0);
}

}  // namespace hone::dsl
