// examples/problems/bf16_matmul.json by CUTLASS 3: bulk tensor copies and warp-group products, tiles shared by a cluster
// of two blocks, three warp groups of which one loads. Needs the CUTLASS headers (pip install nvidia-cutlass, or HONE_CUTLASS).
#include <hone/module.h>

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

namespace {

using Element = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using Tile = cute::Shape<cute::_128, cute::_256, cute::_64>;
using Cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
constexpr int kAligned = 8;  // elements of 16 bytes

using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto,
    float, float, void, RowMajor, kAligned, Element, RowMajor, kAligned,
    cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, kAligned, Element, RowMajor, kAligned, float,
    Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

}  // namespace

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }

// y[m, n] = a[m, k] b[k, n], all row-major, sums in FP32.
extern "C" int32_t hone_run(const HoneCall* call) {
  const DLTensor &a = call->inputs[0], &b = call->inputs[1], &y = call->outputs[0];
  const int m = static_cast<int>(a.shape[0]), k = static_cast<int>(a.shape[1]), n = static_cast<int>(b.shape[1]);
  const auto stride = [](auto kind, int rows, int columns) {
    return cutlass::make_cute_packed_stride(kind, cute::make_shape(rows, columns, 1));
  };
  const typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {static_cast<const Element*>(a.data), stride(typename Kernel::StrideA{}, m, k), static_cast<const Element*>(b.data),
       stride(typename Kernel::StrideB{}, n, k)},
      {{}, nullptr, {}, static_cast<Element*>(y.data), stride(typename Kernel::StrideD{}, m, n)}};
  static Gemm gemm;
  if (gemm.can_implement(arguments) != cutlass::Status::kSuccess) return 1;
  if (Gemm::get_workspace_size(arguments) != 0) return 2;
  const auto stream = static_cast<cudaStream_t>(call->stream);
  if (gemm.initialize(arguments, nullptr, stream) != cutlass::Status::kSuccess) return 3;
  return gemm.run(stream) == cutlass::Status::kSuccess ? 0 : 4;
}
