# Attention of several heads between its projections, as in every transformer.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, heads: int):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)

    def forward(self, x):
        b, t, f = x.shape
        q, k, v = self.project(x).view(b, t, 3, self.heads, f // self.heads).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-2, -1) / (f // self.heads) ** 0.5, dim=-1)
        return self.out((scores @ v).transpose(1, 2).reshape(b, t, f))


def get_inputs():
    return [torch.randn(2, 128, 64)]


def get_init_inputs():
    return [64, 4]
