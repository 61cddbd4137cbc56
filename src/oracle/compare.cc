#include "oracle/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "oracle/element_check.h"
#include "problem/element.h"

namespace hone {
namespace {

constexpr std::int64_t kParallelFrom = 1'000'000;

// A bool that is neither 0 nor 1 is not right: seen as the byte that it is.
template <class Body>
auto WithCompared(DType dtype, const Body& body) {
  return WithElement(dtype == DType::kBool ? DType::kU8 : dtype, body);
}

// Elements looked at together, without a branch, so that the compiler makes vectors of them.
constexpr int kLanes = 8;

// True when all of [begin, begin + kLanes) are within their budgets; adds them to what is known then, and nothing
// otherwise.
template <class Element>
bool AllRight(const void* data, const Expected& expected, double tolerance, std::int64_t begin, double& largest,
              std::int64_t& unofficial) {
  const double* value = expected.value.data() + begin;
  const double* budget = expected.budget.data() + begin;
  double error[kLanes];
  int wrong = 0, off = 0, larger = 0;
  for (int i = 0; i < kLanes; ++i) {
    error[i] = std::abs(LoadElement<Element>(data, begin + i).Value() - value[i]);
    wrong += !(error[i] <= budget[i]);
    off += !(error[i] <= tolerance + tolerance * std::abs(value[i]));
    larger +=
        error[i] > largest * budget[i];  // instead of a division each; rarely true. NaN (0 times infinity) is not.
  }
  if (wrong != 0) return false;
  for (int i = 0; larger != 0 && i < kLanes; ++i) {
    if (error[i] > largest * budget[i]) largest = error[i] / budget[i];
  }
  unofficial += off;
  return true;
}

template <class Element>
PartCheck Check(const void* data, const Expected& expected, std::uint16_t poison, DType dtype, std::int64_t begin,
                std::int64_t end) {
  const double tolerance = OfficialTolerance(dtype), overflow = OverflowOf(dtype);
  PartCheck check;
  const auto one = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    CheckElement(static_cast<const unsigned char*>(data) + at * sizeof(Element), sizeof(Element), i,
                 LoadElement<Element>(data, i).Value(), expected.value[at], expected.budget[at], tolerance, overflow,
                 poison, check);
  };
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    if (AllRight<Element>(data, expected, tolerance, i, check.largest, check.unofficial)) [[likely]]
      continue;
    for (int lane = 0; lane < kLanes; ++lane) one(i + lane);
  }
  for (; i < end; ++i) one(i);
  return check;
}

// work(begin, end) of all parts of [0, count), merged; large counts on several threads.
template <class Part, class Work>
Part InPieces(std::int64_t count, const Work& work) {
  if (count < kParallelFrom) return work(std::int64_t{0}, count);
  const auto pieces = static_cast<std::int64_t>(std::clamp(std::thread::hardware_concurrency(), 1u, 16u));
  std::vector<Part> parts(static_cast<std::size_t>(pieces));
  std::vector<std::thread> threads;
  for (std::int64_t p = 0; p < pieces; ++p) {
    threads.emplace_back(
        [&, p] { parts[static_cast<std::size_t>(p)] = work(count * p / pieces, count * (p + 1) / pieces); });
  }
  Part whole;
  for (std::int64_t p = 0; p < pieces; ++p) {
    threads[static_cast<std::size_t>(p)].join();
    whole = Merged(whole, parts[static_cast<std::size_t>(p)]);
  }
  return whole;
}

}  // namespace

OutputCheck ToOutputCheck(const PartCheck& whole) {
  return {.wrong = whole.wrong,
          .unwritten = whole.unwritten,
          .nonfinite = whole.nonfinite,
          .zero = whole.zero,
          .worst = whole.worst,
          .expected = whole.expected,
          .got = whole.got,
          .budget = whole.budget,
          .error_over_budget = whole.worst < 0 ? whole.largest : std::max(whole.ratio, whole.largest),
          .official = whole.unofficial == 0};
}

double OfficialTolerance(DType dtype) { return IsSmallFloat(dtype) ? std::max(1e-2, 2 * Roundoff(dtype)) : 1e-4; }

OutputCheck CompareOutput(const Tensor& tensor, const void* got, const Expected& expected, std::uint16_t poison) {
  const std::int64_t count = ElementCount(tensor.shape);
  return WithCompared(tensor.dtype, [&](auto element) {
    using Element = decltype(element);
    OutputCheck check = ToOutputCheck(InPieces<PartCheck>(count, [&](std::int64_t begin, std::int64_t end) {
      return Check<Element>(got, expected, poison, tensor.dtype, begin, end);
    }));
    if (expected.whole) {
      check.unlike = UnlikeWhole(*expected.whole, InPieces<Totals>(count, [&](std::int64_t begin, std::int64_t end) {
        Totals totals;
        for (std::int64_t i = begin; i < end; ++i)
          totals.Add(LoadElement<Element>(got, i).Value(), expected.value[static_cast<std::size_t>(i)]);
        return totals;
      }));
    }
    return check;
  });
}

bool MayBeOpen(DType dtype) { return !IsFloat(dtype) && dtype != DType::kBool; }

OutputCheck CompareOpen(const Tensor& tensor, const void* got, const Expected& expected, double room,
                        const Expected* distance, double sure_room) {
  return WithCompared(tensor.dtype, [&](auto element) {
    using Element = decltype(element);
    return ToOutputCheck(InPieces<PartCheck>(ElementCount(tensor.shape), [&](std::int64_t begin, std::int64_t end) {
      PartCheck check;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool open = std::isinf(expected.budget[at]);
        if (!open && sure_room == kAnyRoom) continue;
        OpenElement one{.got = LoadElement<Element>(got, i).Value(), .want = expected.value[at]};
        one.distance = distance ? distance->value[at] : std::numeric_limits<double>::infinity();
        one.budget = open && distance ? distance->budget[at] : 0;
        CheckOpen(i, one, open ? room : sure_room, check);
      }
      return check;
    }));
  });
}

double OpenRoom(double open_error) { return kBudgetFactor * open_error + 1; }

NormCheck CompareNorm(const Tensor& tensor, const void* got, const Expected& expected, std::uint16_t poison) {
  const double overflow = OverflowOf(tensor.dtype);
  return WithCompared(tensor.dtype, [&](auto element) {
    using Element = decltype(element);
    return InPieces<NormCheck>(ElementCount(tensor.shape), [&](std::int64_t begin, std::int64_t end) {
      NormCheck check;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        check.Add(static_cast<const unsigned char*>(got) + at * sizeof(Element), sizeof(Element), i,
                  LoadElement<Element>(got, i).Value(), expected.value[at], expected.budget[at], overflow, poison);
      }
      return check;
    });
  });
}

std::vector<std::int64_t> Unflatten(const Shape& shape, std::int64_t flat_index) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat_index % shape[i];
    flat_index /= shape[i];
  }
  return index;
}

std::string ElementName(const Tensor& tensor, std::int64_t flat_index) {
  if (tensor.shape.empty()) return tensor.name;
  return fmt::format("{}[{}]", tensor.name, fmt::join(Unflatten(tensor.shape, flat_index), ", "));
}

Verdict WrongVerdict(const Tensor& tensor, const OutputCheck& check, const std::string& draw) {
  const std::int64_t count = ElementCount(tensor.shape);
  Verdict verdict;
  verdict.evidence->draw = draw;
  verdict.evidence->output = tensor.name;
  verdict.evidence->elements = count;
  if (check.wrong == 0) {
    verdict.outcome = Outcome::kWrongResult;
    verdict.reason = fmt::format(
        "'{}' as a whole is not what is expected: {}; rounding decides its elements one by one "
        "(inputs: {})",
        tensor.name, check.unlike.value_or(""), draw);
    return verdict;
  }
  verdict.evidence->index = Unflatten(tensor.shape, check.worst);
  verdict.evidence->expected = check.expected;
  verdict.evidence->got = check.got;
  verdict.evidence->budget = check.budget;
  verdict.evidence->wrong_elements = check.wrong;
  verdict.outcome = check.nonfinite > 0 ? Outcome::kNonfinite : Outcome::kWrongResult;
  if (check.unwritten == check.wrong) {
    verdict.outcome = Outcome::kWrongResult;
    verdict.reason = fmt::format("{} of {} elements of '{}' were never written, {} for one (inputs: {})", check.wrong,
                                 count, tensor.name, ElementName(tensor, check.worst), draw);
    return verdict;
  }
  verdict.reason =
      fmt::format("{} is {:.9g}, expected {:.9g} within {:.3g}; {} of {} elements are wrong{} (inputs: {})",
                  ElementName(tensor, check.worst), check.got, check.expected, check.budget, check.wrong, count,
                  check.zero == check.wrong ? ", all of them 0" : "", draw);
  return verdict;
}

}  // namespace hone
