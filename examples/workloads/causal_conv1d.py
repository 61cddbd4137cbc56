"""What stands before a state-space model: a depthwise convolution of the last four steps and SiLU, in f16."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels=4096, width=4):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, width, groups=channels, padding=width - 1).half()

    def forward(self, x):
        return F.silu(self.conv(x)[..., :x.shape[-1]])


def get_inputs():
    return [torch.randn(8, 4096, 2048, dtype=torch.float16)]


def get_init_inputs():
    return []
