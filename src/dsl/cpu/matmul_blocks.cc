#include "dsl/cpu/matmul_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostABlock = 1 << 18;  // elements of A's block, which lies on the thread's stack

// Cycles that the busiest thread spends on a product of depth 1 in blocks of rows x columns: two vectors of 16 products
// a cycle, and for each block A's rows are packed and B's panels fetched. The factors are measured on a Xeon with
// AVX-512 (2026-11); only their order of size matters.
double BlockingCost(const MatmulShape& shape, double batches, std::int64_t rows, std::int64_t columns, int threads) {
  const auto cost = [&](std::int64_t r, std::int64_t c) {
    const auto height = static_cast<double>(r), width = static_cast<double>(c);
    return height * width / 32 + height * 0.5 + width * 0.25 + 20;
  };
  const std::int64_t m = shape.m.extent, n = shape.n.extent;
  const double down = static_cast<double>(m / rows), across = static_cast<double>(n / columns);
  const double whole = cost(rows, columns), low = m % rows ? cost(m % rows, columns) : 0,
               narrow = n % columns ? cost(rows, n % columns) : 0,
               corner = m % rows && n % columns ? cost(m % rows, n % columns) : 0;
  const double sum = batches * (down * across * whole + across * low + down * narrow + corner);
  const double count = batches * static_cast<double>(((m + rows - 1) / rows) * ((n + columns - 1) / columns));
  if (threads <= 1) return sum;
  if (count > 64.0 * threads) return sum / threads + whole / 2;
  // Blocks go to whoever is free, in order.
  std::vector<double> busy(static_cast<std::size_t>(threads), 0);
  for (double batch = 0; batch < batches; ++batch) {
    for (std::int64_t i = 0; i < m; i += rows) {
      for (std::int64_t j = 0; j < n; j += columns)
        *std::min_element(busy.begin(), busy.end()) += cost(std::min(rows, m - i), std::min(columns, n - j));
    }
  }
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace

std::optional<std::string> WhyNoBlocksOfProducts(const Kernel& kernel) {
  if (MatmulShape(kernel).k.extent == 0) return "K is 0: there is nothing to multiply";
  return std::nullopt;
}

std::vector<Setting> MicroBlocks(const Kernel& kernel, bool unpacked) {
  const MatmulShape shape = MatmulShape::OfOneGroup(kernel);
  // Rows x columns in registers: 32 of 16 floats with AVX-512, 16 of 8 with AVX2, less what B and the broadcast need.
  std::vector<std::array<std::int64_t, 2>> blocks;
  if (kernel.device->vector_bytes >= 64) {
    blocks = {{14, 32}, {12, 32}, {8, 48}, {8, 32}, {6, 64}, {4, 32}};
  } else {
    blocks = {{6, 16}, {4, 24}, {4, 16}, {8, 8}};
  }
  // The default wastes least in the last panels; ties go to the earlier, which does more products a load.
  const auto waste = [&](const std::array<std::int64_t, 2>& block) {
    const auto padded = [](std::int64_t extent, std::int64_t step) {
      return static_cast<double>((extent + step - 1) / step * step);
    };
    // The last panel has as many rows as are left, but fewer than four do not keep the multipliers busy.
    const std::int64_t left = shape.m.extent % block[0];
    const double rows = static_cast<double>(shape.m.extent - left + (left ? std::max<std::int64_t>(left, 4) : 0));
    const double used = rows * padded(shape.n.extent, block[1]) /
                        (static_cast<double>(shape.m.extent) * static_cast<double>(shape.n.extent));
    // Loads a product: one row of B and one broadcast each.
    const double loads = 1.0 / static_cast<double>(block[0]) + 16.0 / static_cast<double>(block[1]) * 0.1;
    return used * (1 + 0.3 * loads);
  };
  std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) { return waste(a) < waste(b); });
  // Rows of A that lie apart want a register each for their addresses: few rows, and more columns for it.
  if (kernel.device->vector_bytes >= 64 && unpacked && shape.n.extent % 64 == 0) {
    std::stable_partition(blocks.begin(), blocks.end(),
                          [](const auto& block) { return block[0] == 6 && block[1] == 64; });
  }
  std::vector<Setting> values;
  for (const auto& block : blocks) values.push_back(Tuple({block[0], block[1]}));
  return values;
}
std::optional<std::string> CheckMicro(const Kernel&, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 8x32";
  if ((*tuple)[0] < 1 || (*tuple)[0] > 32) return "the first goes from 1 to 32; try 8";
  if ((*tuple)[1] < 8 || (*tuple)[1] > 128 || (*tuple)[1] % 8 != 0) {
    return fmt::format("the second must be a multiple of 8 up to 128; try {}",
                       std::clamp<std::int64_t>(((*tuple)[1] + 7) / 8 * 8, 8, 128));
  }
  return std::nullopt;
}

std::vector<Setting> PackedMicroValues(const Kernel& kernel) { return MicroBlocks(kernel, false); }

std::vector<Setting> TileValues(const Kernel& kernel) {
  const MatmulShape shape = MatmulShape::OfOneGroup(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t mr = micro.size() == 2 ? micro[0] : 8, nr = micro.size() == 2 ? micro[1] : 32;
  const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; };
  // Depth, in equal parts of K: panels of A and B come from L2 anyway, and fewer parts spare reading the result.
  const auto depth_for = [&](std::int64_t most) {
    const std::int64_t parts = std::max<std::int64_t>(1, (shape.k.extent + most - 1) / most);
    return std::max<std::int64_t>(4, up((shape.k.extent + parts - 1) / parts, 4));
  };
  const std::int64_t depth = depth_for(512);
  // Rows: A's block fills a quarter of L2 at most.
  double batches = 1;
  for (const auto& dim : shape.batch) batches *= static_cast<double>(dim.extent);
  const std::int64_t most_rows =
      std::max(mr, std::min(kernel.device->l2_bytes / 4 / 4 / depth, kMostABlock / depth) / mr * mr);
  std::int64_t rows = mr, columns = nr;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = mr; r <= std::min(most_rows, up(shape.m.extent, mr)); r += mr) {
    for (std::int64_t pieces = 1; pieces <= 2 * kernel.device->threads; ++pieces) {
      const std::int64_t c = up((shape.n.extent + pieces - 1) / pieces, nr);
      const double cost = BlockingCost(shape, batches, r, c, kernel.device->threads);
      if (cost >= least) continue;
      rows = r;
      columns = c;
      least = cost;
    }
  }
  std::vector<Setting> values = {Tuple({rows, columns, depth})};
  const auto add = [&](std::int64_t r, std::int64_t c, std::int64_t d) {
    const Setting setting = Tuple({r, c, d});
    if (r * d <= kMostABlock && std::find(values.begin(), values.end(), setting) == values.end())
      values.push_back(setting);
  };
  add(std::max(mr, rows / 2 / mr * mr), columns, depth);
  add(rows * 2, columns, depth);
  add(rows, std::max(nr, columns / 2 / nr * nr), depth);
  add(rows, columns, depth_for(std::max<std::int64_t>(64, depth * 2)));
  add(rows, columns, depth_for(std::max<std::int64_t>(64, depth / 2)));
  return values;
}
std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 3) return "it is rows x columns x depth; try 128x1024x256";
  for (const auto part : *tuple) {
    if (part < 1) return "each part is 1 at least; try 128x1024x256";
  }
  const auto micro = TupleSetting(kernel, "micro");
  if (micro.size() == 2 && (*tuple)[0] % micro[0] != 0) {
    return fmt::format("the first must be a multiple of micro's {} rows; try {}", micro[0],
                       ((*tuple)[0] + micro[0] - 1) / micro[0] * micro[0]);
  }
  if (micro.size() == 2 && (*tuple)[1] % micro[1] != 0) {
    return fmt::format("the second must be a multiple of micro's {} columns; try {}", micro[1],
                       ((*tuple)[1] + micro[1] - 1) / micro[1] * micro[1]);
  }
  if ((*tuple)[2] % 4 != 0) return fmt::format("the third must be a multiple of 4; try {}", ((*tuple)[2] + 3) / 4 * 4);
  if ((*tuple)[0] > kMostABlock || (*tuple)[2] > kMostABlock || (*tuple)[0] * (*tuple)[2] > kMostABlock) {
    return fmt::format("rows x depth is a block of A on the stack, {} elements at most; try fewer rows", kMostABlock);
  }
  return std::nullopt;
}

std::vector<Setting> PrepackValues(const Kernel&) { return {Word("auto"), Word("no")}; }
std::optional<std::string> CheckPrepack(const Kernel&, const Setting& value) {
  return CheckWord(value, {"auto", "no"});
}

}  // namespace hone::dsl
