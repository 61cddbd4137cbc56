#include "dsl/cuda/matmul.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/matmul_end.h"
#include "dsl/cuda/matmul_library.h"
#include "dsl/cuda/matmul_simt.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/knobs.h"
#include "dsl/matmul_shape.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kFew = 8;  // rows or columns up to which dot products are made
// Products from which on the tensor cores are worth packing for: 320^3. At 512^3 they take 28 us against 36.
constexpr double kWorthPacking = 1 << 25;

std::int64_t Processors(const Kernel& kernel) { return kernel.device->multiprocessors; }

bool Wide(const Kernel& kernel) { return kernel.compute == DType::kF64; }

double Products(const MatmulShape& shape) {
  double count =
      static_cast<double>(shape.m.extent) * static_cast<double>(shape.n.extent) * static_cast<double>(shape.k.extent);
  for (const auto& dim : shape.batch) count *= static_cast<double>(dim.extent);
  return count;
}
std::int64_t BatchesOf(const MatmulShape& shape) {
  std::int64_t count = 1;
  for (const auto& dim : shape.batch) count *= dim.extent;
  return count;
}

// Whether all that is multiplied is held as `dtype`.
bool AllAre(const Kernel& kernel, DType dtype) {
  bool all = true, some = false;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    Visit(InputOf(kernel, i), [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.buffer < 0) return;
      some = true;
      all &= kernel.operand_types[static_cast<std::size_t>(node.buffer)] == dtype;
    });
  }
  return all && some;
}
// Whether what is multiplied is read along K in order.
bool AlongK(const Kernel& kernel, const MatmulShape& shape) {
  bool along = true;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    Visit(InputOf(kernel, i), [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.buffer < 0) return;
      const std::int64_t stride = shape.k.strides[static_cast<std::size_t>(node.buffer)];
      along &= stride == 1 || stride == 0;
    });
  }
  return along;
}

std::string PrecisionOf(const Kernel& kernel) { return WordSetting(kernel, "precision"); }
bool OnTensorCores(const Kernel& kernel) {
  const std::string precision = PrecisionOf(kernel);
  return precision == "f32x3" || precision == "f16" || precision == "bf16";
}
TensorPrecision TensorPrecisionOf(const Kernel& kernel) {
  const std::string precision = PrecisionOf(kernel);
  return precision == "bf16"  ? TensorPrecision::kBF16
         : precision == "f16" ? TensorPrecision::kF16
                              : TensorPrecision::kF32x3;
}
// Whether the sums of a tile are what the tensor cores leave, neither scaled nor promoted: what can be set on its
// course are settings of these products alone.
bool Plain(const Kernel& kernel) {
  return OnTensorCores(kernel) &&
         (PrecisionOf(kernel) == "bf16" || MultipliesInPlace(kernel, TensorPrecisionOf(kernel)));
}
bool Promotes(const Kernel& kernel) { return OnTensorCores(kernel) && !Plain(kernel); }

// By cuBLASLt, which decides all else.
bool ByLibrary(const Kernel& kernel) {
  const std::string precision = PrecisionOf(kernel);
  return precision == "library" || precision == "library_tf32";
}

std::vector<Setting> PrecisionValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  std::vector<Setting> values;
  const std::int64_t few = std::min(shape.m.extent, shape.n.extent);
  const bool dots = few <= kFew && AlongK(kernel, shape), fits = !Lacks(*kernel.device, kTensorNeeds);
  const bool large = Products(shape) >= kWorthPacking && few > kFew;
  if (dots) values.push_back(Word("dot"));
  if (!Wide(kernel)) {
    const std::string half = AllAre(kernel, DType::kBF16) ? "bf16" : AllAre(kernel, DType::kF16) ? "f16" : "f32x3";
    if (large && fits) values.push_back(Word(half));
    values.push_back(Word("simt"));
    if (!large && fits && few > kFew) values.push_back(Word(half));
  } else {
    values.push_back(Word("simt"));
  }
  // Three products of halves beat the library's FP32 from there on (docs/measured/cuda_matmul.md).
  const bool ours = fits && AllAre(kernel, DType::kF32) && Products(shape) >= kWorthPacking * 8;
  if (kernel.device->libraries.cublas_lt && !ours && LibraryMultiplies(kernel)) {
    const bool first = large && !fits && !Wide(kernel);
    values.insert(values.begin() + (first ? 0 : 1), Word("library"));
  }
  return values;
}
std::optional<std::string> CheckPrecision(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"f32x3", "f16", "bf16", "simt", "dot", "library", "library_tf32"})) return why;
  const std::string& word = std::get<std::string>(value.value);
  if (word.starts_with("library")) {
    if (LibraryMultiplies(kernel)) return std::nullopt;
    return "cuBLASLt reads both operands where they lie, as matrices in one batch dimension at most; try simt";
  }
  if (word == "simt" || word == "dot") return std::nullopt;
  if (const auto lacks = Lacks(*kernel.device, kTensorNeeds)) return *lacks + "; try simt";
  if (Wide(kernel)) return "the product is computed in f64, which halves cannot make; try simt";
  if (word == "bf16" && !AllAre(kernel, DType::kBF16))
    return "the operands are not bf16 and would be rounded to it; try f32x3";
  return std::nullopt;
}

std::int64_t TilesOf(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  return (shape.m.extent + rows - 1) / rows * ((shape.n.extent + columns - 1) / columns) * BatchesOf(shape);
}
// Into how many parts K is cut where there are too few tiles for the device.
std::int64_t SplitOf(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = TilesOf(shape, rows, columns);
  // Blocks at a time, and the least of K that is worth a block.
  const bool tensor = OnTensorCores(kernel), dot = PrecisionOf(kernel) == "dot";
  const std::int64_t wanted = tensor ? Processors(kernel) : dot ? 8 * Processors(kernel) : 2 * Processors(kernel);
  const std::int64_t least = tensor ? 512 : dot ? 4096 : 256;
  if (tiles * 2 > wanted) return 1;
  return std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(tiles, 1), 1,
                                  std::max<std::int64_t>(shape.k.extent / least, 1));
}

bool Together(const Kernel& kernel) {
  return kernel.settings.contains("products") && WordSetting(kernel, "products") == "together";
}
std::int64_t ProductsAtATime(const Kernel& kernel) {
  return Together(kernel) ? static_cast<std::int64_t>(ProductsOf(kernel)) : 1;
}

// Of the knobs before `stages`.
TensorSettings TensorSettingsOf(const Kernel& kernel) {
  TensorSettings settings;
  settings.precision = TensorPrecisionOf(kernel);
  settings.products = ProductsAtATime(kernel);
  if (!Promotes(kernel)) settings.promote = 0;
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (tile.size() == 2) {
    settings.tile_m = tile[0];
    settings.tile_n = tile[1];
  }
  return settings;
}

std::vector<Setting> ProductsValues(const Kernel& kernel) {
  if (kernel.lets.empty()) return {};
  if (OnTensorCores(kernel) && MultipliesInPlace(kernel, TensorPrecisionOf(kernel)) && ProductsOf(kernel) <= 4)
    return {Word("together")};
  return {Word("apart")};
}
std::optional<std::string> CheckProducts(const Kernel& kernel, const Setting& value) {
  if (kernel.lets.empty()) return "there is one product; remove it";
  if (auto why = CheckWord(value, {"together", "apart"})) return why;
  if (std::get<std::string>(value.value) == "apart") return std::nullopt;
  if (!OnTensorCores(kernel) || !MultipliesInPlace(kernel, TensorPrecisionOf(kernel)))
    return "only operands of 16 bits that lie along K are multiplied together; try apart";
  if (ProductsOf(kernel) > 4) return "four products at most are made together; try apart";
  return std::nullopt;
}

std::vector<Setting> TileValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const std::int64_t m = shape.m.extent, n = shape.n.extent, batches = BatchesOf(shape);
  const auto tiles = [&](std::int64_t rows, std::int64_t columns) { return TilesOf(shape, rows, columns); };
  std::vector<std::array<std::int64_t, 2>> sizes;
  const std::string precision = PrecisionOf(kernel);
  if (ByLibrary(kernel)) return {Tuple({0, 0})};
  if (precision == "dot") {
    // Four of the longer side share what is read of the shorter one.
    const std::int64_t few = std::min(m, n) <= 2 ? std::min(m, n) : 2;
    if (n <= m) {
      sizes = {
          {std::min<std::int64_t>(m, 4), few}, {std::min<std::int64_t>(m, 2), std::min<std::int64_t>(n, 4)}, {1, 1}};
    } else {
      sizes = {
          {few, std::min<std::int64_t>(n, 4)}, {std::min<std::int64_t>(m, 4), std::min<std::int64_t>(n, 2)}, {1, 1}};
    }
  } else if (precision == "simt") {
    sizes = {{64, 64}, {32, 32}};
    // The largest that gives every multiprocessor a tile, or else the one that gives most.
    while (sizes.size() > 1 && tiles(sizes[0][0], sizes[0][1]) < Processors(kernel) && m * n * batches > 64 * 64)
      std::rotate(sizes.begin(), sizes.begin() + 1, sizes.end()), sizes.pop_back();
  } else {
    if (Plain(kernel)) {
      sizes = {{128, 256}, {128, 128}, {64, 256}, {64, 128}, {128, 64}};
    } else {
      sizes = {{128, 128}, {64, 128}, {128, 64}, {64, 64}};
    }
    std::erase_if(sizes, [&](const auto& size) { return size[1] * ProductsAtATime(kernel) > 256; });
    // What the busiest multiprocessor has to do: small tiles read more for each product, parts of K are added up later.
    std::stable_sort(sizes.begin(), sizes.end(), [&](const auto& a, const auto& b) {
      const auto cost = [&](const auto& size) {
        const std::int64_t split = SplitOf(kernel, shape, size[0], size[1]);
        const std::int64_t waves = (tiles(size[0], size[1]) * split + Processors(kernel) - 1) / Processors(kernel);
        return static_cast<double>(waves * size[0] * size[1]) / static_cast<double>(split) * (split > 1 ? 1.15 : 1) *
               (1 + 12.0 / static_cast<double>(size[0]) + 12.0 / static_cast<double>(size[1]));
      };
      return cost(a) < cost(b);
    });
  }
  std::vector<Setting> values;
  for (const auto& size : sizes) {
    const Setting value = Tuple({size[0], size[1]});
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}
std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 128x128";
  const std::int64_t rows = (*tuple)[0], columns = (*tuple)[1];
  const std::string precision = PrecisionOf(kernel);
  if (ByLibrary(kernel)) return std::nullopt;
  if (precision == "dot") {
    if (rows < 1 || columns < 1 || rows * columns > 16) return "a block of dot makes 1 to 16 elements; try 4x1";
    return std::nullopt;
  }
  if (precision == "simt") {
    if (rows != columns || (rows != 64 && rows != 32)) return "simt has 32x32 and 64x64; try 64x64";
    return std::nullopt;
  }
  if (rows != 64 && rows != 128) return "the rows are 64 a warpgroup, of one or two; try 128x128";
  if (columns != 64 && columns != 128 && columns != 256) return "the columns are 64, 128 or 256; try 128x128";
  if (columns * ProductsAtATime(kernel) > 256)
    return fmt::format("{} products of {} columns are more than the registers hold, 256; try 128x{}",
                       ProductsOf(kernel), columns, ProductsOf(kernel) == 2 ? 128 : 64);
  if (Promotes(kernel) && columns > 128) return "256 columns leave no registers for promoted sums; try 128x128";
  return std::nullopt;
}

std::vector<Setting> StagesValues(const Kernel& kernel) {
  if (!OnTensorCores(kernel)) return {Whole(0)};
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = 6;
  while (settings.stages > 2 && CheckTensor(kernel.device->limits, settings)) --settings.stages;
  std::vector<Setting> values = {Whole(settings.stages)};
  if (settings.stages > 2) values.push_back(Whole(settings.stages - 1));
  // As many as leave room for a second block, which comes first where there are tiles for it.
  const std::int64_t most = settings.stages;
  while (settings.stages > 2 && TensorBlocksAProcessor(kernel.device->limits, settings) < 2) --settings.stages;
  if (TensorBlocksAProcessor(kernel.device->limits, settings) == 2 && settings.stages + 1 < most) {
    const bool many = TilesOf(MatmulShape(kernel), settings.tile_m, settings.tile_n) > Processors(kernel);
    values.insert(many ? values.begin() : values.end(), Whole(settings.stages));
  }
  return values;
}
std::optional<std::string> CheckStages(const Kernel& kernel, const Setting& value) {
  if (!OnTensorCores(kernel)) return CheckRange(value, 0, 0);
  if (auto why = CheckRange(value, 2, 12)) return why;
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(std::get<std::int64_t>(value.value));
  return CheckTensor(kernel.device->limits, settings);
}

std::vector<Setting> PromoteValues(const Kernel& kernel) {
  if (!Promotes(kernel)) return {Whole(0)};
  if (PrecisionOf(kernel) == "f16") return {Whole(256), Whole(128)};
  // 128 is no faster, and near the end of FP32's budget on positive inputs (docs/measured/cuda_matmul.md).
  return {Whole(64)};
}
std::optional<std::string> CheckPromote(const Kernel& kernel, const Setting& value) {
  if (!Promotes(kernel)) return CheckRange(value, 0, PrecisionOf(kernel) == "f16" ? 512 : 0);
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (!whole || (*whole != 64 && *whole != 128 && *whole != 256 && *whole != 512))
    return "it is 64, 128, 256 or 512; try 64";
  return std::nullopt;
}

std::vector<Setting> ClusterValues(const Kernel& kernel) {
  // Where two parts are read of both operands, sharing gains nothing (docs/measured/cuda_matmul.md).
  if (!OnTensorCores(kernel) || PrecisionOf(kernel) == "f32x3") return {Whole(1)};
  // Two products read more of their weights: 931 us, not 946 (docs/measured/cuda_16bit.md).
  if (Together(kernel)) return {Whole(2), Whole(1)};
  return {Whole(1), Whole(2)};
}
std::optional<std::string> CheckCluster(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, OnTensorCores(kernel) ? 2 : 1);
}

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (tile.size() != 2 || ByLibrary(kernel) || Together(kernel)) return {Whole(1)};
  const std::int64_t split = SplitOf(kernel, shape, tile[0], tile[1]);
  std::vector<Setting> values = {Whole(split)};
  for (const std::int64_t other : {std::int64_t{1}, split * 2, split / 2}) {
    if (other >= 1 && other * 256 <= shape.k.extent &&
        std::find(values.begin(), values.end(), Whole(other)) == values.end())
      values.push_back(Whole(other));
  }
  return values;
}
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, ByLibrary(kernel) || Together(kernel) ? 1 : 4096);
}

std::vector<Setting> EndValues(const Kernel& kernel) {
  if (!Plain(kernel)) return {};
  if (IntSetting(kernel, "split") != 1 || CheckTiles(kernel)) return {Word("lines")};
  // Faster by 1 to 7 % (docs/measured/cuda_16bit.md).
  return {Word("tiles"), Word("lines")};
}
std::optional<std::string> CheckTensorEnd(const Kernel& kernel, const Setting& value) {
  if (!Plain(kernel)) return "only products of 16-bit operands have it; remove it";
  if (auto why = CheckWord(value, {"lines", "tiles"})) return why;
  if (std::get<std::string>(value.value) == "lines") return std::nullopt;
  if (IntSetting(kernel, "split") != 1) return "parts of K are added up in f32; try lines";
  if (auto why = CheckTiles(kernel)) return why;
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(IntSetting(kernel, "stages"));
  settings.end = TensorEnd::kTiles;
  return CheckTensor(kernel.device->limits, settings);
}

std::vector<Setting> AlgorithmValues(const Kernel& kernel) {
  if (!ByLibrary(kernel)) return {Whole(0)};
  return {Whole(0), Whole(1), Whole(2), Whole(3)};
}
std::optional<std::string> CheckAlgorithm(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 0, ByLibrary(kernel) ? 255 : 0);
}

constexpr Knob kKnobs[] = {
    {"precision",
     "f32x3: as accurate as FP32, of three FP16 products on the tensor cores; f16: one product, as accurate as TF32; "
     "bf16: for operands that are; simt: without tensor cores; dot: dot products, for few rows or columns; library: "
     "cuBLASLt in the operands' own "
     "precision, library_tf32: in TF32",
     PrecisionValues, CheckPrecision},
    {"products",
     "together: what the lets multiply A with goes through the same tiles; apart: a kernel for each product",
     ProductsValues, CheckProducts},
    {"tile", "rows x columns of the result that a block makes at a time", TileValues, CheckTile},
    {"stages", "tiles of both operands that are in flight in shared memory, 64 of K each; tensor cores only",
     StagesValues, CheckStages},
    {"promote", "elements of K after which the tensor cores' sums, which truncate, are added to sums in f32; 0 = never",
     PromoteValues, CheckPromote},
    {"cluster", "blocks that share what they read of B; tensor cores only", ClusterValues, CheckCluster},
    {"split", "parts of K that are summed by blocks of their own", SplitValues, CheckSplit},
    {"end", "how 16-bit results leave: lines, by the threads; tiles, by the copy engine while the threads go on",
     EndValues, CheckTensorEnd},
    {"algorithm", "which of cuBLASLt's proposals, its best first; library only", AlgorithmValues, CheckAlgorithm},
};

}  // namespace

std::span<const Knob> MatmulKnobsCuda() { return kKnobs; }

void EmitMatmulCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (ElementCount(kernel.result) == 0) return;
  const std::int64_t split = IntSetting(kernel, "split");
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  const std::string precision = PrecisionOf(kernel);
  if (ByLibrary(kernel)) return EmitMatmulLibrary(program, kernel, out, precision == "library_tf32");
  if (precision == "simt") return EmitMatmulSimt(program, kernel, out, tile[0], split);
  if (precision == "dot") return EmitMatmulDot(program, kernel, out, tile[0], tile[1], split);
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(IntSetting(kernel, "stages"));
  settings.promote = IntSetting(kernel, "promote");
  settings.cluster = static_cast<int>(IntSetting(kernel, "cluster"));
  settings.split = split;
  // A product by itself, of several that the statement makes, is of f32.
  if (kernel.settings.contains("end") && WordSetting(kernel, "end") == "tiles" && !CheckTiles(kernel))
    settings.end = TensorEnd::kTiles;
  EmitMatmulTensor(program, kernel, out, settings);
}

}  // namespace hone::dsl
