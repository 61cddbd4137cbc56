# A batch of small matrix products, as in attention heads.
# Each is too small to be split well; the batch is what threads share.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(32, 128, 64), torch.randn(32, 64, 128)]


def get_init_inputs():
    return []
