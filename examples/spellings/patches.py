"""An image cut into patches that do not overlap, each a token: a convolution whose stride is its window."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Conv2d(3, 768, 14, stride=14).to(torch.bfloat16)

    def forward(self, x):
        return self.project(x).flatten(2).transpose(1, 2)


def get_inputs():
    return [torch.randn(8, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
