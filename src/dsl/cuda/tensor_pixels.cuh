// Copies of pixels of an image [n, spatial.., channels] as the windows of a convolution see them: from the pixel at
// (.., y, x) of an image on, as many as the map has, and its channels from `channel` on. Each is moved by the place of the
// window, `down` and `across`; what lies outside of the image is 0. By the number of spatial dimensions, innermost first.
// Likewise to all blocks of a cluster whose bit in `blocks` is set. Uses tensor_core.cuh.
__device__ __forceinline__ void CopyPixels(unsigned to, const TensorMap* map, int channel, int x, int image,
                                           unsigned short across, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2], {%6};" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(image), "h"(across)
      : "memory");
}
__device__ __forceinline__ void CopyPixels(unsigned to, const TensorMap* map, int channel, int x, int y, int image,
                                           unsigned short across, unsigned short down, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2], {%7, %8};" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(across),
      "h"(down)
      : "memory");
}
__device__ __forceinline__ void CopyPixels(unsigned to, const TensorMap* map, int channel, int x, int y, int z,
                                           int image, unsigned short across, unsigned short down, unsigned short deep,
                                           unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
      "%7}], [%2], {%8, %9, %10};" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image),
      "h"(across), "h"(down), "h"(deep)
      : "memory");
}
__device__ __forceinline__ void CopyPixelsToAll(unsigned to, const TensorMap* map, int channel, int x, int image,
                                                unsigned short across, unsigned barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], {%6}, %7;" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(image), "h"(across),
      "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void CopyPixelsToAll(unsigned to, const TensorMap* map, int channel, int x, int y,
                                                int image, unsigned short across, unsigned short down,
                                                unsigned barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(across),
      "h"(down), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void CopyPixelsToAll(unsigned to, const TensorMap* map, int channel, int x, int y, int z,
                                                int image, unsigned short across, unsigned short down,
                                                unsigned short deep, unsigned barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11;" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image),
      "h"(across), "h"(down), "h"(deep), "h"(blocks)
      : "memory");
}
