# The step up of a decoder: each input is spread over a window of outputs.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, filters: int):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, filters, 4, stride=2, padding=1)

    def forward(self, x):
        return F.leaky_relu(self.up(x), 0.2)


def get_inputs():
    return [torch.randn(2, 32, 16, 16)]


def get_init_inputs():
    return [32, 16]
