"""MaxSim over product-quantized documents in Triton: of examples/workloads/maxsim_quantized.py."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def score(table, codes, out, LENGTH: tl.constexpr, PARTS: tl.constexpr, CENTRES: tl.constexpr, TOKENS: tl.constexpr,
          STEP: tl.constexpr):
    document = tl.program_id(0).to(tl.int64)
    q = tl.arange(0, TOKENS)
    t = tl.arange(0, STEP)
    best = tl.full((TOKENS,), float("-inf"), tl.float32)
    for at in range(0, LENGTH, STEP):
        similar = tl.zeros((STEP, TOKENS), tl.float32)
        for part in range(PARTS):
            code = tl.load(codes + (document * LENGTH + at + t) * PARTS + part, mask=at + t < LENGTH, other=0).to(tl.int32)
            similar += tl.load(table + (part * CENTRES + code)[:, None] * TOKENS + q[None, :])
        similar = tl.where((at + t)[:, None] < LENGTH, similar, float("-inf"))
        best = tl.maximum(best, tl.max(similar, 0))
    tl.store(out + document, tl.sum(best, 0))


class ModelNew(nn.Module):
    def __init__(self, parts=16, centres=256, width=8):
        super().__init__()
        self.centres = nn.Parameter(torch.empty(parts, centres, width, dtype=torch.float16))

    def forward(self, query, codes):
        parts, centres, width = self.centres.shape
        table = torch.einsum("qpw,pcw->pcq", query.view(-1, parts, width), self.centres).contiguous()
        out = torch.empty(codes.shape[0], dtype=torch.float32, device=codes.device)
        score[(codes.shape[0],)](table, codes, out, LENGTH=codes.shape[1], PARTS=parts, CENTRES=centres, TOKENS=query.shape[0],
                                 STEP=32, num_warps=4)
        return out
