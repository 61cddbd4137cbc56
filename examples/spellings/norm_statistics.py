"""Layer norm as a training step wants it: with each row's mean and reciprocal deviation."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4096, dtype=torch.bfloat16))
        self.bias = nn.Parameter(torch.zeros(4096, dtype=torch.bfloat16))

    def forward(self, x):
        return torch.ops.aten.native_layer_norm(x, [4096], self.weight, self.bias, 1e-5)


def get_inputs():
    return [torch.randn(8192, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
