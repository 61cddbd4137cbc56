"""A graph convolution: each of 100000 nodes gets the sum of what its neighbours have, by 800000 edges in no order."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.own = nn.Linear(width, width)

    def forward(self, x, source, target):
        y = self.own(x)
        return torch.zeros_like(y).index_add(0, target, y[source]).relu()


def get_inputs():
    return [torch.randn(100000, 64), torch.randint(0, 100000, (800000,)), torch.randint(0, 100000, (800000,))]


def get_init_inputs():
    return []
