"""Attention by sigmoids of scores: each weight is by itself, and a bias of minus the logarithm of the number of keys
has them add up to about 1. No score is in memory, and heads are laid side by side where they are made."""
import math

import torch

HEADS = 16


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        batch, tokens, width = q.shape
        q, k, v = (x.view(batch, tokens, HEADS, width // HEADS).transpose(1, 2) for x in (q, k, v))
        weights = torch.sigmoid(q @ k.mT / math.sqrt(width // HEADS) - math.log(tokens))
        return (weights @ v).transpose(1, 2).reshape(batch, tokens, width)


def get_inputs():
    return [torch.randn(4, 2048, HEADS * 64, dtype=torch.bfloat16) for _ in range(3)]


def get_init_inputs():
    return []
