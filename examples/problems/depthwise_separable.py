# MobileNet's block: one filter a channel, then a product over channels.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, filters: int):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.pointwise = nn.Conv2d(channels, filters, 1, bias=False)

    def forward(self, x):
        return F.relu6(self.pointwise(F.relu6(self.depthwise(x))))


def get_inputs():
    return [torch.randn(2, 32, 28, 28)]


def get_init_inputs():
    return [32, 64]
