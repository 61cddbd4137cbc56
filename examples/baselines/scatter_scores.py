"""Sparse retrieval in Triton, a few blocks of postings a program, added with atomics: of examples/workloads/sparse_retrieval.py."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

from sparse_index import postings  # that workload's own


@triton.jit
def scatter(ids, weights, blocks, asked, scores, count, documents, SOME: tl.constexpr, BLOCK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    which = tl.program_id(1) * SOME + tl.arange(0, SOME)
    block = tl.load(blocks + query * count + which, mask=which < count, other=0)
    factor = tl.load(asked + query * count + which, mask=which < count, other=0)
    at = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    document = tl.load(ids + at)
    product = tl.load(weights + at) * factor[:, None]
    tl.atomic_add(scores + query * documents + document, product, mask=(which < count)[:, None] & (document < documents))


class ModelNew(nn.Module):
    def __init__(self, documents=100000, terms=30522, words=150, best=1000):
        super().__init__()
        ids = postings(documents, terms, words)
        self.documents, self.best = documents, best
        self.register_buffer("ids", ids)
        self.register_buffer("weights", torch.zeros(ids.shape))

    def forward(self, blocks, weights):
        queries, count = blocks.shape
        scores = torch.zeros(queries, self.documents, device=weights.device)
        scatter[(queries, triton.cdiv(count, 4))](self.ids, self.weights, blocks, weights, scores, count, self.documents, SOME=4, BLOCK=32)
        best, places = scores.topk(self.best, -1)
        return best, places
