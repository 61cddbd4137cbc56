# Softmax along rows that fit into the first-level cache.
# One pass over memory: each row is read once and written once.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return []
