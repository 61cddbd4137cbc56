#include "oracle/nest_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "oracle/body_numbers.h"

namespace hone {
namespace {

constexpr char kBegin = '\1', kEnd = '\2';  // around the number of a call that is to be filled in

struct Cut {
  std::vector<std::string> between;  // one more than there are numbers
  std::vector<std::int64_t> numbers;
};

// Takes the numbers out of a body that may become parameters. What stays: extents of windows, loops over which unroll,
// and factors and divisors of indices, by which a compiler knows what lies side by side.
Cut CutNumbers(const std::string& body) {
  constexpr std::int64_t kStays = 8;
  constexpr std::string_view kBefore[] = {"< ", "* ", "(kLanes, ", "(block + kBlock, ", "Constant<R>("};
  constexpr std::string_view kWhole = "std::int64_t{";
  const std::size_t fold = std::min({body.find("Sum<"), body.find("Sums<"), body.find("Terms<"), body.find("Best<")});
  Cut cut;
  std::string text;
  std::vector<std::string> callees;  // of the parentheses that are open; "" of those that only group
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = at;
    while (end < body.size() && IsDigit(body[end])) ++end;
    if (end == at) {
      if (body[at] == '(') {
        std::size_t name = text.size();
        while (name > 0 && IsWord(text[name - 1])) --name;
        callees.push_back(text.substr(name));
      } else if (body[at] == ')' && !callees.empty()) {
        callees.pop_back();
      }
      text += body[at++];
      continue;
    }
    const std::string number = body.substr(at, end - at);
    const std::string callee = callees.empty() ? "" : callees.back();
    const char next = end < body.size() ? body[end] : ';';
    const bool window = at > fold && text.ends_with("< ");
    bool place = std::any_of(std::begin(kBefore), std::end(kBefore),
                             [&](std::string_view before) { return text.ends_with(before); }) &&
                 std::string_view(";)] ,").find(next) != std::string_view::npos;
    if (text.ends_with(kWhole) && next == '}') {
      const std::string_view before = std::string_view(text).substr(0, text.size() - kWhole.size());
      place = callee == "Less" || callee == "LessEqual" || before.ends_with(" + ") || before.ends_with(" - ") ||
              before.ends_with('[');
    }
    if (text.ends_with(", ") && next == ')' && callee == "Inside") place = true;
    at = end;
    const bool output = text.ends_with("value[") || text.ends_with("scale[");  // whichever it is
    const std::int64_t least = output ? 0 : window ? kStays : 2;
    if (!(place || output) || number.size() > 15 || std::stoll(number) < least) {
      text += number;
      continue;
    }
    cut.between.push_back(std::exchange(text, {}));
    cut.numbers.push_back(std::stoll(number));
  }
  cut.between.push_back(std::move(text));
  return cut;
}

}  // namespace

std::string NestFunctions::Call(const std::string& body, const std::vector<Parameter>& parameters,
                                std::string threads) {
  Cut cut = CutNumbers(body);
  std::string key;
  for (const auto& parameter : parameters) key += parameter.type + ' ' + parameter.name + ',';
  for (const auto& piece : cut.between) key += piece + kBegin;
  auto [it, fresh] = forms_.try_emplace(std::move(key));
  Form& form = it->second;
  if (fresh) {
    form.number = static_cast<int>(forms_.size()) - 1;
    form.parameters = parameters;
    form.between = std::move(cut.between);
    form.slots.assign(cut.numbers.size(), 0);
  }
  PartSlots(form.slots, cut.numbers);
  Made made{.form = &form, .numbers = std::move(cut.numbers), .given = {}, .threads = std::move(threads)};
  for (const auto& parameter : parameters) made.given.push_back(parameter.given);
  calls_.push_back(std::move(made));
  return fmt::format("{}{}{}", kBegin, calls_.size() - 1, kEnd);
}

std::string NestFunctions::Definitions() const {
  std::vector<const Form*> forms(forms_.size());
  for (const auto& [key, form] : forms_) forms[static_cast<std::size_t>(form.number)] = &form;
  std::string text;
  for (const Form* form : forms) {
    const int count = form->slots.empty() ? 0 : *std::max_element(form->slots.begin(), form->slots.end()) + 1;
    std::string parameters;
    for (int i = 0; i < count; ++i) fmt::format_to(std::back_inserter(parameters), "const std::int64_t n{}, ", i);
    for (const auto& one : form->parameters)
      fmt::format_to(std::back_inserter(parameters), "{} __restrict {}, ", one.type, one.name);
    std::string body = form->between[0];
    for (std::size_t i = 0; i < form->slots.size(); ++i)
      body += fmt::format("n{}", form->slots[i]) + form->between[i + 1];
    text += fmt::format(
        "template <class R>\n[[gnu::noinline]] void Nest{}({}[[maybe_unused]] double* const* value, [[maybe_unused]] "
        "double* const* scale, [[maybe_unused]] int threads) {{\n{}}}\n\n",
        form->number, parameters, body);
  }
  return text;
}

std::string NestFunctions::WithCalls(const std::string& text) const {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find(kBegin, at);
    filled.append(text, at, begin - at);
    if (begin == std::string::npos) break;
    const std::size_t end = text.find(kEnd, begin);
    const Made& made = calls_[std::stoul(text.substr(begin + 1, end - begin - 1))];
    std::map<int, std::int64_t> numbers;
    for (std::size_t i = 0; i < made.numbers.size(); ++i) numbers[made.form->slots[i]] = made.numbers[i];
    fmt::format_to(std::back_inserter(filled), "Nest{}<R>(", made.form->number);
    for (const auto& [slot, number] : numbers) fmt::format_to(std::back_inserter(filled), "{}, ", number);
    for (const auto& given : made.given) filled += given + ", ";
    fmt::format_to(std::back_inserter(filled), "value, scale, {});", made.threads);
    at = end + 1;
  }
  return filled;
}

}  // namespace hone
