// Sums by keys (nest_element.h).
#include <fmt/format.h>

#include "base/check.h"
#include "dsl/cpu/nest_element.h"
#include "dsl/shape/keyed_nest.h"

namespace hone::dsl {

void ElementWriter::WriteAdds(std::int64_t ranges) {
  const auto nest = KeyedNestOf(kernel_);
  HONE_CHECK(nest && BaseOf(*nest), "terms are added where there is something that they are added to");
  const KeyedFold& fold = nest->fold;
  const auto beside = Beside(*nest);
  const std::int64_t extent = fold.index.extent;
  const std::size_t shared = fold.others.size() + (ranges > 1 ? 1 : 0);
  if (shared > 0)
    writer_.ParallelFor(static_cast<int>(shared));
  else if (writer_.parallel())
    writer_.Line("(void)threads;");
  for (const auto& other : fold.others) OpenLoop(other);
  Span span = SpanOf(fold.index);
  if (ranges > 1) {
    const std::string range = NewName("range");
    span = {.begin = NewName("first"), .end = NewName("end"), .size = extent / ranges + 1};
    writer_.Open(fmt::format("for (long {0} = 0; {0} < {1}; ++{0})", range, ranges));
    writer_.Line(fmt::format("const long {} = {} * {} / {}, {} = ({} + 1) * {} / {};", span.begin, range, extent,
                             ranges, span.end, range, extent, ranges));
    spans_[fold.index.id] = span;
  }
  const auto close = [&](const std::vector<IndexVar>& indices) {
    for (const auto& index : indices) {
      writer_.Close();
      open_.erase(index.id);
    }
  };
  const auto open = [&](const std::vector<IndexVar>& indices) {
    for (const auto& index : indices) {
      if (index.id == indices.back().id) writer_.Line("#pragma omp simd");
      OpenLoop(index);
    }
  };

  std::vector<IndexVar> elements;
  for (const auto& index : nest->element.indices) {
    if (!open_.contains(index.id)) elements.push_back(index);
  }
  open(elements);
  element_.value = BaseOf(*nest);
  Store();
  close(elements);

  for (const auto& over : fold.over) OpenLoop(over);
  const std::string key = NewName("key");
  writer_.Line(fmt::format("const long {} = {};", key, TextOf(fold.key, {})));
  writer_.Line(fmt::format("if ({0} < {1} || {0} >= {2}) continue;", key, span.begin, span.end));
  names_[fold.index.id] = key;
  open_.insert(fold.index.id);
  open(beside);
  if (fold.op == ReduceOp::kSum) {
    writer_.Line(fmt::format("{} += {};", TargetText(), TextOf(fold.term, {})));
  } else {
    const std::string term = NewName("term");
    writer_.Line(fmt::format("const long {} = {};", term, TextOf(fold.term, {})));
    writer_.Line(fmt::format("if ({0} {1} {2}) {2} = {0};", term, fold.op == ReduceOp::kMax ? ">" : "<", TargetText()));
  }
  close(beside);
  close(fold.over);
  for (std::size_t n = 0; n < shared; ++n) writer_.Close();
}

}  // namespace hone::dsl
