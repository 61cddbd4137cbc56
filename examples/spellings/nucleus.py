"""The likeliest words that make up nine tenths: sorted, added up, cut, and put back where they were."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, logits):
        probs = torch.softmax(logits.float() / 0.8, dim=-1)
        ordered, index = torch.sort(probs, dim=-1, descending=True)
        total = ordered.cumsum(dim=-1)
        ordered = ordered.masked_fill(total - ordered > 0.9, 0.0)
        ordered = ordered / ordered.sum(dim=-1, keepdim=True)
        return torch.zeros_like(probs).scatter(-1, index, ordered)


def get_inputs():
    return [torch.randn(32, 128256, dtype=torch.bfloat16) * 4]


def get_init_inputs():
    return []
