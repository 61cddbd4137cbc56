# A square matrix product: enough arithmetic an element that the FMA units are the limit.
# Wants tiles for registers and caches, and packed operands.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(1024, 1024), torch.rand(1024, 1024)]


def get_init_inputs():
    return []
