"""Causal attention, four heads of queries for each of keys, which are repeated for it: nothing is."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), is_causal=True)


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(2, 32, 2048, 128, dtype=type),
        torch.randn(2, 8, 2048, 128, dtype=type),
        torch.randn(2, 8, 2048, 128, dtype=type),
    ]


def get_init_inputs():
    return []
