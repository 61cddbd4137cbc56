"""A product of whole numbers of 8 bits in words that PyTorch has for a processor: both made whole numbers of 32 first."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=1024, outputs=1024):
        super().__init__()
        self.weight = nn.Parameter(torch.randint(-128, 128, (outputs, width), dtype=torch.int8), requires_grad=False)

    def forward(self, x):
        return x.to(torch.int32) @ self.weight.to(torch.int32).t()


def get_inputs():
    return [torch.randint(-128, 128, (2048, 1024), dtype=torch.int8)]


def get_init_inputs():
    return []
