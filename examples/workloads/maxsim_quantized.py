"""MaxSim over product-quantized documents: a token is 16 bytes, each the nearest of 256 centres of its eight numbers.

What a centre has in common with a token of the query is computed once; a similarity is then a sum of 16 such numbers.
"""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, parts=16, centres=256, width=8):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(parts, centres, width, dtype=torch.float16))

    def forward(self, query, codes):
        parts, _, width = self.centres.shape
        table = torch.einsum("qpw,pcw->pcq", query.view(-1, parts, width), self.centres)
        similar = table[torch.arange(parts, device=codes.device), codes.long()].float().sum(2)
        return similar.amax(1).sum(-1)


def inputs(tokens=32, documents=10000, length=128, parts=16, centres=256, width=8):
    return [torch.randn(tokens, parts * width, dtype=torch.float16),
            torch.randint(0, centres, (documents, length, parts), dtype=torch.uint8)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
