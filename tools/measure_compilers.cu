// A product of bf16 by CuTe alone: tiles of shared memory that a block's threads copy and multiply warp by warp. Simple,
// and far from fast; half a minute to compile is what it is for (measure_compilers.py). Sizes are multiples of its tiles.
#include <hone/module.h>

#include <cute/tensor.hpp>

#include <cute/algorithm/cooperative_copy.hpp>
#include <cute/algorithm/cooperative_gemm.hpp>

namespace product {  // nvcc confuses a nameless one with that of CuTe

using namespace cute;

using Tile = Shape<_128, _128, _32>;
using Warps = Layout<Shape<_2, _2, _1>>;
constexpr int kPadding = 8;  // elements of 16 bytes, so that lines begin at other banks

using Element = bfloat16_t;
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{}, Warps{}));
constexpr int kRows = get<0>(Tile{}), kColumns = get<1>(Tile{}), kSummed = get<2>(Tile{});
constexpr int kThreads = size(Mma{});

// Both as [row, summed] and [column, summed], as `a` and `b` lie.
using LayoutA = Layout<Shape<Int<kRows>, Int<kSummed>>, Stride<Int<kSummed + kPadding>, _1>>;
using LayoutB = Layout<Shape<Int<kColumns>, Int<kSummed>>, Stride<_1, Int<kColumns + kPadding>>>;

__global__ void __launch_bounds__(kThreads) Multiply(const Element* a, const Element* b, Element* y, int m, int n, int k) {
  __shared__ alignas(16) Element tile_a[cosize_v<LayoutA>];
  __shared__ alignas(16) Element tile_b[cosize_v<LayoutB>];
  const auto whole_a = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  const auto whole_b = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(_1{}, n));
  const auto whole_y = make_tensor(make_gmem_ptr(y), make_shape(m, n), make_stride(n, _1{}));
  const auto coordinate = make_coord(static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x), _);
  const auto of_a = local_tile(whole_a, Tile{}, coordinate, Step<_1, X, _1>{});
  const auto of_b = local_tile(whole_b, Tile{}, coordinate, Step<X, _1, _1>{});
  auto of_y = local_tile(whole_y, Tile{}, coordinate, Step<_1, _1, X>{});
  auto shared_a = make_tensor(make_smem_ptr(tile_a), LayoutA{});
  auto shared_b = make_tensor(make_smem_ptr(tile_b), LayoutB{});

  Mma mma;
  auto mine = mma.get_thread_slice(threadIdx.x).partition_C(of_y);
  auto sums = mma.get_thread_slice(threadIdx.x).partition_fragment_C(of_y);
  clear(sums);
  for (int step = 0; step < size<2>(of_a); ++step) {
    cooperative_copy<kThreads, 128>(threadIdx.x, of_a(_, _, step), shared_a);
    cooperative_copy<kThreads, 128>(threadIdx.x, of_b(_, _, step), shared_b);
    __syncthreads();
    cooperative_gemm(threadIdx.x, mma, shared_a, shared_b, sums);
    __syncthreads();
  }
  for (int i = 0; i < size(sums); ++i) mine(i) = static_cast<Element>(sums(i));
}

}  // namespace product

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }

// y[m, n] = a[m, k] b[k, n], all row-major, sums in FP32.
extern "C" int32_t hone_run(const HoneCall* call) {
  using namespace product;
  const DLTensor &a = call->inputs[0], &b = call->inputs[1], &y = call->outputs[0];
  const int m = static_cast<int>(a.shape[0]), k = static_cast<int>(a.shape[1]), n = static_cast<int>(b.shape[1]);
  if (m % kRows != 0 || n % kColumns != 0 || k % kSummed != 0) return 1;
  Multiply<<<dim3(n / kColumns, m / kRows), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const Element*>(a.data), static_cast<const Element*>(b.data), static_cast<Element*>(y.data), m, n, k);
  return cudaGetLastError();
}
