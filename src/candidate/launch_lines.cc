#include "candidate/launch_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

namespace hone {
namespace {

constexpr std::string_view kMark = "// hone:";

// What a line or a part of it gives, or what is wrong with it.
template <class T>
using Read = tl::expected<T, std::string>;
tl::unexpected<std::string> Wrong(std::string message) { return tl::unexpected<std::string>(std::move(message)); }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// Splits at `by` outside of brackets.
std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : by;
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if (c != by || (depth > 0 && i < text.size())) continue;
    if (const auto part = Trimmed(text.substr(begin, i - begin)); by != ' ' || !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

// Whole numbers with + - * / and brackets. `n` is the number of elements of the first output, count(x) that of a
// tensor, extent(x, 0) one of its extents. Division rounds down; nothing is negative.
class Expression {
 public:
  Expression(std::string_view text, const Problem& problem) : text_(text), rest_(text), problem_(problem) {}

  Read<std::int64_t> Value() {
    auto value = Sum();
    Skip();
    if (value && !rest_.empty()) return Wrong(fmt::format("'{}': what does '{}' mean here?", text_, rest_));
    return value;
  }

 private:
  void Skip() { rest_ = Trimmed(rest_); }
  bool Take(char c) {
    Skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Read<std::int64_t> Sum() {
    auto left = Product();
    while (left) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) break;
      const auto right = Product();
      if (!right) return right;
      left = plus ? *left + *right : *left - *right;
      if (*left < 0) return Wrong(fmt::format("'{}' is negative on the way", text_));
    }
    return left;
  }

  Read<std::int64_t> Product() {
    auto left = Factor();
    while (left) {
      const bool times = Take('*');
      if (!times && !Take('/')) break;
      const auto right = Factor();
      if (!right) return right;
      std::int64_t product = 0;
      if (!times && *right == 0) return Wrong(fmt::format("'{}' divides by zero", text_));
      if (times && __builtin_mul_overflow(*left, *right, &product))
        return Wrong(fmt::format("'{}' is too large", text_));
      left = times ? product : *left / *right;
    }
    return left;
  }

  Read<std::int64_t> Factor() {
    if (Take('(')) {
      auto value = Sum();
      if (value && !Take(')')) return Wrong(fmt::format("'{}': a ')' is missing", text_));
      return value;
    }
    Skip();
    const std::string_view word = rest_.substr(0, std::find_if(rest_.begin(), rest_.end(), [](char c) {
                                                    return !std::isalnum(static_cast<unsigned char>(c)) && c != '_';
                                                  }) - rest_.begin());
    if (word.empty()) return Wrong(fmt::format("'{}': a number is missing", text_));
    rest_.remove_prefix(word.size());
    if (std::isdigit(static_cast<unsigned char>(word.front()))) return Number(word);
    if (word == "n") return ElementCount(problem_.Outputs().front()->shape);
    if ((word != "count" && word != "extent") || !Take('('))
      return Wrong(fmt::format("'{}': '{}' is none of n, count(TENSOR) and extent(TENSOR, DIMENSION)", text_, word));
    return Measure(word == "count");
  }

  static Read<std::int64_t> Number(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value > (std::int64_t{1} << 40))
      return Wrong(fmt::format("'{}' is no whole number up to 2^40", word));
    return value;
  }

  // TENSOR) or TENSOR, DIMENSION)
  Read<std::int64_t> Measure(bool count) {
    const auto close = rest_.find(')');
    const auto inner = Split(rest_.substr(0, close), ',');
    if (close == rest_.npos || inner.size() != (count ? 1u : 2u))
      return Wrong(fmt::format("'{}': wanted is count(TENSOR) or extent(TENSOR, DIMENSION)", text_));
    rest_.remove_prefix(close + 1);
    const auto found = std::find_if(problem_.tensors.begin(), problem_.tensors.end(),
                                    [&](const Tensor& tensor) { return tensor.name == inner[0]; });
    if (found == problem_.tensors.end()) return Wrong(fmt::format("the problem has no tensor '{}'", inner[0]));
    if (count) return ElementCount(found->shape);
    const auto dimension = Number(inner[1]);
    if (!dimension) return dimension;
    if (static_cast<std::size_t>(*dimension) >= found->shape.size())
      return Wrong(
          fmt::format("{} has no dimension {}: its shape is {}", inner[0], *dimension, ToString(found->shape)));
    return found->shape[static_cast<std::size_t>(*dimension)];
  }

  std::string_view text_, rest_;
  const Problem& problem_;
};

class Reader {
 public:
  explicit Reader(const Problem& problem) : problem_(problem) {}

  Read<void> Line(std::string_view line) {
    const auto words = Split(line, ' ');
    if (words.empty())
      return Wrong("nothing stands behind 'hone:'; wanted is 'launch KERNEL ...' or 'buffer NAME ...'");
    if (words[0] == "launch") return Launch(words, plan.steps);
    if (words[0] == "prepare") return Launch(words, plan.prepare);
    if (words[0] == "memset") return Memset(words);
    if (words[0] == "buffer") return Buffer(words);
    return Wrong(fmt::format("'{}' is none of launch, prepare, memset and buffer", words[0]));
  }

  Plan plan;

 private:
  // buffer NAME DTYPE COUNT
  Read<void> Buffer(const std::vector<std::string_view>& words) {
    const auto dtype = words.size() == 4 ? ParseDType(words[2]) : std::nullopt;
    if (!dtype) return Wrong("wanted is 'buffer NAME DTYPE COUNT', as 'buffer sums f32 extent(x, 0)'");
    const auto count = Expression(words[3], problem_).Value();
    if (!count) return Wrong(count.error());
    if (IsKnown(words[1])) return Wrong(fmt::format("'{}' is a tensor or a buffer already", words[1]));
    plan.buffers.push_back({std::string(words[1]), *dtype, {*count}});
    return {};
  }

  // memset BUFFER BYTE
  Read<void> Memset(const std::vector<std::string_view>& words) {
    const auto byte = words.size() == 3 ? Expression(words[2], problem_).Value() : Read<std::int64_t>(-1);
    if (!byte) return Wrong(byte.error());
    if (*byte < 0 || *byte > 255) return Wrong("wanted is 'memset BUFFER BYTE', as 'memset sums 0'");
    if (!IsKnown(words[1])) return Wrong(fmt::format("'{}' is neither a tensor of the problem nor a buffer", words[1]));
    plan.steps.emplace_back(MemsetStep{std::string(words[1]), static_cast<int>(*byte)});
    return {};
  }

  // launch KERNEL grid=E[,E[,E]] block=E[,E[,E]] [cluster=E[,E[,E]]] [shared=E] [together=E] args=A[,A]...
  Read<void> Launch(const std::vector<std::string_view>& words, std::vector<PlanStep>& steps) {
    if (words.size() < 2 || words[1].find('=') != words[1].npos)
      return Wrong(fmt::format("{} needs the kernel's name first", words[0]));
    LaunchStep step;
    step.kernel = words[1];
    std::set<std::string_view> given;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      const auto field = words[i].substr(0, equals);
      if (equals == words[i].npos)
        return Wrong(fmt::format("'{}' is no field=value; a value is written without spaces", words[i]));
      if (!given.insert(field).second) return Wrong(fmt::format("{} is given twice", field));
      const auto read = Field(field, Split(words[i].substr(equals + 1), ','), step);
      if (!read) return Wrong(fmt::format("{}: {}", field, read.error()));
    }
    for (const char* needed : {"grid", "block", "args"})
      if (!given.contains(needed)) return Wrong(fmt::format("the launch of {} needs {}=", step.kernel, needed));
    steps.emplace_back(std::move(step));
    return {};
  }

  Read<void> Field(std::string_view field, const std::vector<std::string_view>& values, LaunchStep& step) {
    if (field == "grid") return Extents(values, step.grid);
    if (field == "block") return Extents(values, step.block);
    if (field == "cluster") return Extents(values, step.cluster);
    if (field == "args") {
      for (const auto value : values) {
        auto argument = Argument(value);
        if (!argument) return Wrong(argument.error());
        step.arguments.push_back(std::move(*argument));
      }
      return {};
    }
    if (field != "shared" && field != "together")
      return Wrong("the fields are grid, block, cluster, shared, together and args");
    if (values.size() != 1) return Wrong("it is one number");
    const auto number = Expression(values[0], problem_).Value();
    if (!number) return Wrong(number.error());
    (field == "shared" ? step.shared_bytes : step.together) = *number;
    return {};
  }

  Read<void> Extents(const std::vector<std::string_view>& values, std::array<std::int64_t, 3>& extents) const {
    if (values.size() > 3) return Wrong("there are at most three extents");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = Expression(values[i], problem_).Value();
      if (!value) return Wrong(value.error());
      if (*value < 1) return Wrong(fmt::format("'{}' is {}, and an extent is at least 1", values[i], *value));
      extents[i] = *value;
    }
    return {};
  }

  // x, i32:E, i64:E, f32:2.5
  Read<PlanArgument> Argument(std::string_view value) const {
    static const std::map<std::string_view, NumberArgument::Type> kTypes = {
        {"i32", NumberArgument::Type::kI32}, {"u32", NumberArgument::Type::kU32}, {"i64", NumberArgument::Type::kI64},
        {"u64", NumberArgument::Type::kU64}, {"f32", NumberArgument::Type::kF32}, {"f64", NumberArgument::Type::kF64}};
    const auto colon = value.find(':');
    if (colon == value.npos) {
      if (IsKnown(value)) return PlanArgument(BufferArgument{std::string(value)});
      return Wrong(
          fmt::format("'{}' is neither a tensor of the problem nor a buffer; a number has its type before it, "
                      "as i32:n or f32:0.5",
                      value));
    }
    const auto type = kTypes.find(value.substr(0, colon));
    const auto text = value.substr(colon + 1);
    if (type == kTypes.end()) return Wrong(fmt::format("'{}': numbers are i32, u32, i64, u64, f32 or f64", value));
    if (type->first.front() == 'f') {
      double number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size())
        return Wrong(fmt::format("'{}' is no number", text));
      return PlanArgument(NumberArgument{type->second, number});
    }
    const auto number = Expression(text, problem_).Value();
    if (!number) return Wrong(number.error());
    if (type->first.front() == 'u')
      return PlanArgument(NumberArgument{type->second, static_cast<std::uint64_t>(*number)});
    return PlanArgument(NumberArgument{type->second, *number});
  }

  bool IsKnown(std::string_view name) const {
    const auto named = [name](const auto& one) { return one.name == name; };
    return std::any_of(problem_.tensors.begin(), problem_.tensors.end(), named) ||
           std::any_of(plan.buffers.begin(), plan.buffers.end(), named);
  }

  const Problem& problem_;
};

// Calls with what stands behind the mark and the line's number, as long as it gives true.
template <class Each>
void ForMarkedLines(std::string_view source, Each each) {
  for (int number = 1; !source.empty(); ++number) {
    const auto line = Trimmed(source.substr(0, source.find('\n')));
    if (line.starts_with(kMark) && !each(line.substr(kMark.size()), number)) return;
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
}

}  // namespace

bool HasLaunchLines(std::string_view source) {
  bool found = false;
  ForMarkedLines(source, [&](std::string_view, int) {
    found = true;
    return false;
  });
  return found;
}

std::variant<Plan, PlanIssue> PlanOfKernels(std::string_view source, const Problem& problem) {
  Reader reader(problem);
  std::optional<PlanIssue> issue;
  std::vector<int> lines, prepare_lines;  // of the steps
  ForMarkedLines(source, [&](std::string_view line, int number) {
    const auto read = reader.Line(line);
    lines.resize(reader.plan.steps.size(), number);
    prepare_lines.resize(reader.plan.prepare.size(), number);
    if (!read) issue = PlanIssue{fmt::format("line {}", number), read.error()};
    return read.has_value();
  });
  if (issue) return *issue;
  if (reader.plan.steps.empty()) return PlanIssue{"line 1", "nothing is launched: a '// hone: launch' line is missing"};
  reader.plan.sources.push_back({.name = "kernel.cu", .text = std::string(source), .flags = {}});
  // What every plan has to keep to.
  auto checked = ParsePlan(ToJson(reader.plan));
  if (auto* wrong = std::get_if<PlanIssue>(&checked)) {
    const std::string where = wrong->where;
    const auto name_line = [&](std::string_view list, const std::vector<int>& of_steps) {
      for (std::size_t step = 0; step < of_steps.size(); ++step) {
        const std::string pointer = fmt::format("/{}/{}", list, step);
        if (where == pointer || where.starts_with(pointer + "/")) wrong->where = fmt::format("line {}", of_steps[step]);
      }
    };
    name_line("steps", lines);
    name_line("prepare", prepare_lines);
  }
  return checked;
}

std::variant<Plan, PlanIssue> ParsePlan(std::string_view text, const Problem& problem) {
  return HasLaunchLines(text) ? PlanOfKernels(text, problem) : ParsePlan(text);
}

}  // namespace hone
