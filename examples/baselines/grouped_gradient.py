"""A sum over each expert's own rows, in Triton: of examples/workloads/moe_weight_gradient_1.py and moe_weight_gradient_2.py."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gradient(rows, gradients, ends, out, high, wide, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TOGETHER: tl.constexpr):
    expert = tl.program_id(1)
    begin = tl.load(ends + expert - 1, mask=expert > 0, other=0)
    end = tl.load(ends + expert)
    down, across = tl.cdiv(high, M), tl.cdiv(wide, N)
    place = tl.program_id(0)
    first = place // (TOGETHER * across) * TOGETHER
    some = tl.minimum(down - first, TOGETHER)
    m = (first + place % (TOGETHER * across) % some) * M + tl.arange(0, M)
    n = place % (TOGETHER * across) // some * N + tl.arange(0, N)
    k = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for at in range(begin, end, K):
        row = (at + k).to(tl.int64)
        x = tl.load(rows + row[None, :] * high + m[:, None], mask=(row[None, :] < end) & (m[:, None] < high), other=0)
        y = tl.load(gradients + row[:, None] * wide + n[None, :], mask=(row[:, None] < end) & (n[None, :] < wide), other=0)
        sums = tl.dot(x, y, sums)
    to = out + expert.to(tl.int64) * high * wide + m[:, None] * wide + n[None, :]
    tl.store(to, sums.to(out.dtype.element_ty), mask=(m[:, None] < high) & (n[None, :] < wide))


class ModelNew(nn.Module):
    def forward(self, rows, gradients, ends):
        high, wide, experts = rows.shape[1], gradients.shape[1], ends.shape[0]
        out = torch.empty(experts, high, wide, dtype=rows.dtype, device=rows.device)
        grid = (triton.cdiv(high, 128) * triton.cdiv(wide, 128), experts)
        gradient[grid](rows, gradients, ends, out, high, wide, M=128, N=128, K=32, TOGETHER=8, num_warps=8, num_stages=3)
        return out
