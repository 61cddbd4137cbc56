#include "target/cpu/rapl.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files.h"

namespace hone {
namespace {

Result<std::uint64_t> ReadNumber(const std::string& path) {
  const std::string text = HONE_TRY(ReadFile(path));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return Fail(ErrorKind::kCorrupt, fmt::format("{} holds no number: {}", path, text));
  return number;
}

// One package. Its count begins again several times an hour; who reads it at least once a range sees it rise.
struct Package {
  std::string counter;
  std::uint64_t range = 0, last = 0, used = 0;  // microjoules
};

class Rapl final : public EnergyCounter {
 public:
  explicit Rapl(std::vector<Package> packages) : packages_(std::move(packages)) {}

  Result<double> Joules() override {
    std::uint64_t sum = 0;
    for (Package& one : packages_) {
      const std::uint64_t now = HONE_TRY(ReadNumber(one.counter));
      one.used += now >= one.last ? now - one.last : now + one.range - one.last;
      one.last = now;
      sum += one.used;
    }
    return static_cast<double>(sum) / 1e6;
  }

  std::string sensor() const override {
    return fmt::format("RAPL, {} whole processor package{}, whoever uses {}; memory not included", packages_.size(),
                       packages_.size() == 1 ? "" : "s", packages_.size() == 1 ? "it" : "them");
  }

 private:
  std::vector<Package> packages_;
};

}  // namespace

Result<std::unique_ptr<EnergyCounter>> OpenRapl(const std::string& folder) {
  // "intel-rapl:0", on AMD's processors, too; "intel-rapl:0:0" is a part of it.
  const std::string prefix = "intel-rapl:";
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.find(':', prefix.size()) == std::string::npos)
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<Package> packages;
  for (const std::string& path : found) {
    Package package{.counter = path + "/energy_uj"};
    const auto now = ReadNumber(package.counter), range = ReadNumber(path + "/max_energy_range_uj");
    if (!now || !range) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("{} may not be read; as root: chmod a+r {}", package.counter, package.counter));
    }
    package.last = *now;
    package.range = *range;
    packages.push_back(std::move(package));
  }
  if (packages.empty())
    return Fail(ErrorKind::kNotFound, fmt::format("{} has no count of the processors' energy", folder));
  return std::make_unique<Rapl>(std::move(packages));
}

}  // namespace hone
