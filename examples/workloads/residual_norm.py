"""A sum and its layer norm, both of which go on, in bf16."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=4096):
        super().__init__()
        self.norm = nn.LayerNorm(width, dtype=torch.bfloat16)

    def forward(self, x, added):
        both = x + added
        return self.norm(both), both


def get_inputs():
    return [torch.randn(16384, 4096, dtype=torch.bfloat16), torch.randn(16384, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
