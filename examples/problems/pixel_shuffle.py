# Channels become places: super-resolution's way up, all of it a view of memory.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, 4 * channels, 3, padding=1)

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.conv(x).view(b, c, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3)
        return torch.relu(y.reshape(b, c, 2 * h, 2 * w))


def get_inputs():
    return [torch.randn(1, 16, 24, 24)]


def get_init_inputs():
    return [16]
