"""A layer of few rows whose weights are fp8 with a scale for each block of 128 x 128, dequantized before the product."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(18432, 7168).to(torch.float8_e4m3fn), requires_grad=False)
        self.scales = nn.Parameter(torch.rand(144, 56), requires_grad=False)

    def forward(self, x):
        blocks = self.weight.float().view(144, 128, 56, 128) * self.scales[:, None, :, None]
        return F.linear(x, blocks.view(18432, 7168).to(torch.bfloat16))


def get_inputs():
    return [torch.randn(16, 7168, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
