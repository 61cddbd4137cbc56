"""A gated feed-forward layer with one matrix for the gate and what it gates."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gu = nn.Linear(4096, 2 * 11008, bias=False, dtype=torch.bfloat16)
        self.d = nn.Linear(11008, 4096, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        g, u = self.gu(x).chunk(2, -1)
        return self.d(F.silu(g) * u)


def get_inputs():
    return [torch.randn(4, 1024, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
