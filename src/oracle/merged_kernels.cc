#include "oracle/merged_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "oracle/body_numbers.h"

namespace hone {
namespace {

// A body without the numbers that may become parameters: those that are an int or an unsigned. `between` has one piece
// more, each with how the number before it is to be written.
struct Cut {
  std::vector<std::string> between;
  std::vector<std::int32_t> numbers;
  enum class Use : char { kValue = 'v', kUnsigned = 'u', kDivisor = 'd' };
  std::vector<Use> uses;
};

// As long as the word or the number that begins at `at`.
std::size_t EndOfToken(const std::string& body, std::size_t at) {
  const bool number = IsDigit(body[at]);
  std::size_t end = at;
  while (end < body.size() && (IsWord(body[end]) || (number && (body[end] == '.' || body[end] == '\'')) ||
                               (number && (body[end] == '+' || body[end] == '-') &&
                                std::string_view("eEpP").find(body[end - 1]) != std::string_view::npos)))
    ++end;
  return end;
}

std::optional<std::int32_t> SmallNumber(std::string_view digits) {
  if (digits.size() > 10 || !std::all_of(digits.begin(), digits.end(), IsDigit)) return std::nullopt;
  const std::int64_t value = std::stoll(std::string(digits));
  if (value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

Cut CutNumbers(const std::string& body) {
  Cut cut;
  std::string text;
  int arguments = 0;        // lists of template arguments that are open: comparisons have a space on both sides
  char constant_until = 0;  // the end of a declaration or directive that wants constants
  for (std::size_t at = 0; at < body.size();) {
    const char c = body[at];
    if (!IsWord(c)) {
      if (c == '<' && !text.empty() && IsWord(text.back())) ++arguments;
      if (c == '>' && arguments > 0) --arguments;
      if (c == constant_until) constant_until = 0;
      if (c == '#') constant_until = '\n';
      text += c;
      ++at;
      continue;
    }
    const std::size_t end = EndOfToken(body, at);
    std::string_view token = std::string_view(body).substr(at, end - at);
    at = end;
    if (token == "static_assert" || token == "constexpr") constant_until = ';';
    const bool is_unsigned = token.size() > 1 && token.back() == 'u';
    const auto number = IsDigit(c) && arguments == 0 && constant_until == 0
                            ? SmallNumber(is_unsigned ? token.substr(0, token.size() - 1) : token)
                            : std::nullopt;
    if (!number) {
      text += token;
      continue;
    }
    const bool divides = text.ends_with(" / ") || text.ends_with(" % ");
    cut.uses.push_back(is_unsigned ? Cut::Use::kUnsigned : divides ? Cut::Use::kDivisor : Cut::Use::kValue);
    cut.numbers.push_back(*number);
    cut.between.push_back(std::exchange(text, {}));
  }
  cut.between.push_back(std::move(text));
  return cut;
}

std::string Written(Cut::Use use, std::int32_t constant) {
  return fmt::format("{}{}", constant, use == Cut::Use::kUnsigned ? "u" : "");
}
std::string Given(Cut::Use use, int number) {
  switch (use) {
    case Cut::Use::kDivisor: return fmt::format("numbers.of[{}]", number);
    case Cut::Use::kUnsigned: return fmt::format("static_cast<unsigned>(numbers.of[{}].value)", number);
    case Cut::Use::kValue: return fmt::format("numbers.of[{}].value", number);
  }
  return {};
}

// Tiles ask for their factors so often that they take up to twice as long by numbers that are not constants.
bool MayShare(const CudaNests::Kernel& kernel) { return kernel.body.find("SumTile<") == std::string::npos; }

// Kernels of one form, and which of their numbers are the same one: of equal value in each of them.
struct Form {
  std::vector<std::size_t> kernels;
  std::vector<Cut> cuts;  // of each kernel
  std::vector<int> slots;

  void Add(std::size_t kernel, Cut cut) {
    slots.resize(cut.numbers.size(), 0);
    PartSlots(slots, cut.numbers);
    kernels.push_back(kernel);
    cuts.push_back(std::move(cut));
  }
};

// A kernel's parameters have 4 KiB, pointers among them.
constexpr int kMostNumbers = 192;

// The one kernel of a form. `numbers` become its numbers, of each kernel that it stands for; false: there are too many.
bool Merge(const Form& form, CudaNests::Kernel& into, std::vector<std::vector<std::int32_t>>& numbers) {
  const Cut& first = form.cuts[0];
  std::map<int, int> parameters;  // slot -> number of a parameter; of slots that differ between kernels
  std::string body = first.between[0];
  numbers.assign(form.kernels.size(), {});
  for (std::size_t i = 0; i < first.numbers.size(); ++i) {
    const bool differs = std::any_of(form.cuts.begin(), form.cuts.end(),
                                     [&](const Cut& cut) { return cut.numbers[i] != first.numbers[i]; });
    if (differs) {
      const auto [at, fresh] = parameters.try_emplace(form.slots[i], static_cast<int>(parameters.size()));
      if (fresh) {
        for (std::size_t k = 0; k < form.cuts.size(); ++k) numbers[k].push_back(form.cuts[k].numbers[i]);
      }
      body += Given(first.uses[i], at->second);
    } else {
      body += Written(first.uses[i], first.numbers[i]);
    }
    body += first.between[i + 1];
  }
  if (static_cast<int>(parameters.size()) > kMostNumbers) return false;
  into.numbers = static_cast<int>(parameters.size());
  into.body = std::move(body);
  return true;
}

}  // namespace

void MergeKernels(CudaNests& nests) {
  std::vector<CudaNests::Kernel> kernels = std::move(nests.kernels);
  // Forms of one roundoff behind one another: where nothing is multiplied any will do.
  std::vector<ProductUnits> units;
  const auto place_of = [&](const CudaNests::Kernel& kernel) -> std::size_t {
    if (!kernel.multiplies) return 0;
    const auto found = std::find(units.begin(), units.end(), kernel.units);
    if (found != units.end()) return static_cast<std::size_t>(found - units.begin());
    units.push_back(kernel.units);
    return units.size() - 1;
  };
  std::vector<std::vector<Form>> forms;  // by roundoff
  std::map<std::string, std::pair<std::size_t, std::size_t>> known;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const CudaNests::Kernel& kernel = kernels[k];
    const std::size_t place = place_of(kernel);
    if (forms.size() <= place) forms.resize(place + 1);
    Cut cut = MayShare(kernel) ? CutNumbers(kernel.body) : Cut{.between = {kernel.body}, .numbers = {}, .uses = {}};
    std::string key = fmt::format("{}{} {}", kernel.multiplies, place, kernel.parameters);
    for (std::size_t i = 0; i < cut.between.size(); ++i) {
      key += cut.between[i];
      if (i < cut.uses.size()) (key += '\1') += static_cast<char>(cut.uses[i]);
    }
    const auto [at, fresh] = known.try_emplace(std::move(key), std::pair(place, forms[place].size()));
    if (fresh) forms[place].emplace_back();
    forms[at->second.first][at->second.second].Add(k, std::move(cut));
  }

  struct Now {
    int kernel = 0;
    std::vector<std::int32_t> numbers;
  };
  std::vector<Now> now(kernels.size());
  nests.kernels.clear();
  for (std::size_t place = 0; place < forms.size(); ++place) {
    for (const Form& form : forms[place]) {
      std::vector<std::vector<std::int32_t>> numbers;
      CudaNests::Kernel merged = kernels[form.kernels[0]];
      const bool one = form.kernels.size() > 1 && Merge(form, merged, numbers);
      for (std::size_t i = 0; i < form.kernels.size(); ++i) {
        const std::size_t kernel = form.kernels[i];
        if (i == 0 || !one) {
          nests.kernels.push_back(one ? std::move(merged) : std::move(kernels[kernel]));
          if (!units.empty()) nests.kernels.back().units = units[place];
        }
        now[kernel].kernel = static_cast<int>(nests.kernels.size()) - 1;
        if (one) now[kernel].numbers = std::move(numbers[i]);
      }
    }
  }
  for (auto& run : nests.runs) {
    for (auto& launch : run.launches) {
      Now& of = now[static_cast<std::size_t>(launch.kernel)];
      launch.kernel = of.kernel;
      launch.numbers = of.numbers;
    }
  }
}

}  // namespace hone
