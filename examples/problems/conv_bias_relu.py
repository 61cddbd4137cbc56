# A convolution with what follows it in most networks: bias and activation stay in registers.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, filters: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(2, 16, 32, 32)]


def get_init_inputs():
    return [16, 32]
