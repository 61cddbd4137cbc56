"""The product behind a mixture of experts' routing, square: rows sorted by expert times each expert's weights.

gpt-oss-120b's sizes: 128 experts, 2880 wide, about 4096 rows an expert. Weights lie as nn.Linear keeps them, [out, in].
"""
import torch
import torch.nn as nn

from moe_routing import ends_of_groups


class Model(nn.Module):
    def __init__(self, experts=128, width=2880, out=2880):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, out, width, dtype=torch.bfloat16) * width**-0.5)

    def forward(self, rows, ends):
        return torch._grouped_mm(rows, self.weight.transpose(1, 2), offs=ends)


def inputs(experts=128, width=2880, rows=524288):
    return [torch.randn(rows, width, dtype=torch.bfloat16), ends_of_groups(rows, experts)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
