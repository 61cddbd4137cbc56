// Takes memory until there is none.
#include <cstring>
#include <memory>
#include <vector>

extern "C" int32_t hone_run(const HoneCall*) {
  std::vector<std::unique_ptr<char[]>> all;
  while (true) {
    all.push_back(std::make_unique_for_overwrite<char[]>(std::size_t{1} << 26));
    all.back()[std::size_t{1} << 25] = 1;
  }
}
