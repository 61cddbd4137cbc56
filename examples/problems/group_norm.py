# Group norm with 8 groups over feature maps, with scale and shift a channel.
# The statistics of a group cover several channels and all pixels of an image.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(16, 64, 56, 56)]


def get_init_inputs():
    return [8, 64]
