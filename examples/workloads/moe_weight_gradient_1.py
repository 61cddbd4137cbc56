"""The gradient of the first product's weights: each expert's own rows, of which it may have none, times what came back to them.

14442 tokens, four experts each: a sum over 57768 ragged rows, [2880, 5760] an expert.
"""
import torch
import torch.nn as nn

from moe_routing import ends_of_groups


class Model(nn.Module):
    def forward(self, rows, gradients, ends):
        return torch._grouped_mm(rows.t(), gradients, offs=ends)


def inputs(experts=128, width=2880, out=5760, rows=57768):
    return [torch.randn(rows, width, dtype=torch.bfloat16), torch.randn(rows, out, dtype=torch.bfloat16),
            ends_of_groups(rows, experts)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
