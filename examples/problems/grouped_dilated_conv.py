# Groups, dilation and stride at once: nothing of the input is read twice by neighbouring outputs.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, filters: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, 3, stride=2, padding=2, dilation=2, groups=4)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(2, 32, 40, 40)]


def get_init_inputs():
    return [32, 64]
