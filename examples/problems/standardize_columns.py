# Standardizes each column of a matrix: subtracts its mean and divides by its deviation.
# Two reductions down the columns before the pass that writes.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        mean = torch.mean(x, dim=0, keepdim=True)
        variance = torch.mean((x - mean) ** 2, dim=0, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5)


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return []
