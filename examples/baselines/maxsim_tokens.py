"""MaxSim in Triton, a document a program: of examples/workloads/maxsim.py, maxsim_wide.py and (Masked) maxsim_masked.py."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def score(query, documents, lengths, out, LENGTH: tl.constexpr, WIDTH: tl.constexpr, TOKENS: tl.constexpr, STEP: tl.constexpr,
          DEPTH: tl.constexpr, MASKED: tl.constexpr):
    document = tl.program_id(0).to(tl.int64)
    length = LENGTH
    if MASKED:
        length = tl.load(lengths + document)
    q = tl.arange(0, TOKENS)
    t = tl.arange(0, STEP)
    w = tl.arange(0, DEPTH)
    best = tl.full((TOKENS,), float("-inf"), tl.float32)
    for at in range(0, length, STEP):
        similar = tl.zeros((STEP, TOKENS), tl.float32)
        for part in range(0, WIDTH, DEPTH):
            x = tl.load(documents + (document * LENGTH + at + t)[:, None] * WIDTH + part + w[None, :], mask=(at + t)[:, None] < length,
                        other=0)
            y = tl.load(query + q[None, :] * WIDTH + part + w[:, None])
            similar = tl.dot(x, y, similar)
        similar = tl.where((at + t)[:, None] < length, similar, float("-inf"))
        best = tl.maximum(best, tl.max(similar, 0))
    tl.store(out + document, tl.sum(best, 0))


def scores(query, documents, lengths):
    """A power of two of the query's tokens, at least 16, and of the width's parts of 128."""
    count, length, width = documents.shape
    out = torch.empty(count, dtype=torch.float32, device=documents.device)
    score[(count,)](query, documents, documents if lengths is None else lengths, out, LENGTH=length, WIDTH=width,
                    TOKENS=query.shape[0], STEP=64, DEPTH=min(width, 128), MASKED=lengths is not None, num_warps=4)
    return out


class ModelNew(nn.Module):
    def forward(self, query, documents):
        return scores(query, documents, None)


class Masked(nn.Module):
    def forward(self, query, documents, lengths):
        return scores(query, documents, lengths)
