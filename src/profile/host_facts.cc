#include "profile/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/bubblewrap.h"
#include "base/process.h"

namespace hone {
namespace {

struct HostInstruction {
  std::uint64_t address = 0;
  std::string_view name, operands;
  std::optional<std::uint64_t> target;  // of a jump
};

struct Function {
  std::string_view name;
  std::vector<HostInstruction> code;
};

constexpr std::string_view kArithmetic[] = {"add", "sub", "mul", "div",   "sqrt",   "fmadd", "fmsub",
                                            "max", "min", "rcp", "rsqrt", "fnmadd", "fnmsub"};

enum class Kind { kOther, kPacked, kScalar };

// "vfmadd231ps" computes reals in a vector, "mulss" one real.
Kind KindOf(std::string_view name) {
  if (name.starts_with('v')) name.remove_prefix(1);
  if (name.size() < 4 || std::none_of(std::begin(kArithmetic), std::end(kArithmetic),
                                      [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return Kind::kOther;
  const std::string_view end = name.substr(name.size() - 2);
  if (end == "ps" || end == "pd" || end == "ph") return Kind::kPacked;
  if (end == "ss" || end == "sd" || end == "sh") return Kind::kScalar;
  return Kind::kOther;
}

int VectorBytes(std::string_view operands) {
  if (operands.find("%zmm") != operands.npos) return 64;
  if (operands.find("%ymm") != operands.npos) return 32;
  return 16;
}

std::optional<std::uint64_t> Hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// "    11a0:\tvmovups (%rdi),%zmm0", "0000000000001120 <hone_run>:"
std::vector<Function> Parse(std::string_view text) {
  std::vector<Function> functions;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with(">:")) {
      const auto open = line.find('<');
      functions.push_back({.name = line.substr(open + 1, line.size() - open - 3), .code = {}});
      continue;
    }
    const auto colon = line.find(":\t");
    if (functions.empty() || colon == line.npos) continue;
    const auto first = line.find_first_not_of(' ');
    const auto address = Hex(line.substr(first, colon - first));
    if (!address) continue;
    std::string_view rest = line.substr(colon + 2);
    HostInstruction one{.address = *address, .name = rest.substr(0, rest.find(' '))};
    const auto operands = rest.find_first_not_of(' ', one.name.size());
    if (operands != rest.npos) one.operands = rest.substr(operands);
    if (one.name.starts_with('j')) one.target = Hex(one.operands);
    functions.back().code.push_back(one);
  }
  return functions;
}

// As of CUDA kernels: a loop is taken to be gone through eight times.
std::vector<double> WeightsOf(const std::vector<HostInstruction>& code) {
  constexpr double kTimes = 8;
  constexpr int kDepths = 3;
  std::vector<int> depths(code.size(), 0);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target || *code[i].target > code[i].address || code[i].name == "jmp") continue;
    const auto begin = std::lower_bound(code.begin(), code.end(), *code[i].target,
                                        [](const auto& one, std::uint64_t at) { return one.address < at; });
    if (begin == code.end() || begin->address != *code[i].target) continue;
    for (auto at = static_cast<std::size_t>(begin - code.begin()); at <= i; ++at) ++depths[at];
  }
  std::vector<double> weights;
  for (const int depth : depths) weights.push_back(depth == 0 ? 1 : std::pow(kTimes, std::min(depth, kDepths)));
  return weights;
}

struct Weighed {
  Profile profile;
  double reals = 0;
};

std::optional<Weighed> Read(const Function& function, const DeviceModel& machine) {
  const std::vector<double> weights = WeightsOf(function.code);
  double total = 0, packed = 0, scalar = 0, bytes = 0, gathers = 0, divisions = 0, calls = 0;
  for (std::size_t i = 0; i < function.code.size(); ++i) {
    const HostInstruction& one = function.code[i];
    const double weight = weights[i];
    total += weight;
    if (weight <= 1) continue;  // in no loop
    const Kind kind = KindOf(one.name);
    if (kind == Kind::kPacked) {
      packed += weight;
      bytes += weight * VectorBytes(one.operands);
    } else if (kind == Kind::kScalar) {
      scalar += weight;
    }
    if (kind != Kind::kOther && (one.name.find("div") != one.name.npos || one.name.find("sqrt") != one.name.npos))
      divisions += weight;
    if (one.name.starts_with("vgather")) gathers += weight;
    if (one.name.starts_with("call")) calls += 1;
  }
  if (packed + scalar <= 0) return std::nullopt;
  Weighed weighed{.profile = Profile(Scope::kFunction, std::string(function.name)), .reals = packed + scalar};
  constexpr double kWeighted = 0.7;
  const auto set = [&](std::string_view name, double value, double confidence) {
    weighed.profile.Set(name, value, FactSource::kObject, confidence);
  };
  set("instructions", static_cast<double>(function.code.size()), 1);
  set("scalar_share", scalar / (packed + scalar), kWeighted);
  if (packed > 0) {
    set("vector_bytes", bytes / packed, kWeighted);
    if (machine.vector_bytes > 0) set("vector_width_share", bytes / packed / machine.vector_bytes, kWeighted);
  }
  set("machine_vector_bytes", machine.vector_bytes, 1);
  set("gather_share", gathers / total, kWeighted);
  set("slow_division_share", divisions / (packed + scalar), kWeighted);
  set("loop_calls", calls, 1);
  return weighed;
}

}  // namespace

std::vector<Profile> ReadDisassembly(std::string_view text, const DeviceModel& machine) {
  std::vector<Weighed> all;
  for (const Function& function : Parse(text)) {
    if (auto weighed = Read(function, machine)) all.push_back(std::move(*weighed));
  }
  std::stable_sort(all.begin(), all.end(), [](const Weighed& a, const Weighed& b) { return a.reals > b.reals; });
  std::vector<Profile> profiles;
  for (Weighed& one : all) profiles.push_back(std::move(one.profile));
  return profiles;
}

Result<std::vector<Profile>> HostProfiles(const std::string& library, const DeviceModel& machine, Source source) {
  const auto objdump = FindProgram("objdump");
  if (!objdump)
    return Fail(ErrorKind::kNotFound, "objdump reads what a module became and is not here: install binutils");
  Command command{.argv = {*objdump, "-d", "--no-show-raw-insn", library},
                  .environment = InheritedEnvironment(),
                  .max_output_bytes = 256u << 20};
  if (source == Source::kForeign && BubblewrapWorks()) {
    auto argv = BubblewrapArgv({.read_only = {{library, ""}}});
    argv.insert(argv.end(), command.argv.begin(), command.argv.end());
    command.argv = std::move(argv);
  }
  const Exit exit = HONE_TRY(Run(command));
  if (!exit.ok())
    return Fail(ErrorKind::kTool, fmt::format("objdump {} on {}: {}", exit.Describe(), library, exit.error));
  return ReadDisassembly(exit.output, machine);
}

}  // namespace hone
