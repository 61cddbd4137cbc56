"""The sixteen nearest of 65536 vectors, by torch.cdist and its smallest."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, others):
        return torch.cdist(x, others).topk(16, dim=-1, largest=False).indices


def get_inputs():
    return [torch.randn(4096, 128), torch.randn(65536, 128)]


def get_init_inputs():
    return []
