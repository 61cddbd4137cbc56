# Rotary positions: halves of each head change places, one with its sign turned.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, cos, sin):
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
        return x * cos + turned * sin


def get_inputs():
    return [torch.randn(2, 8, 128, 64), torch.randn(128, 64), torch.randn(128, 64)]


def get_init_inputs():
    return []
