# A whole block: norms before attention and multilayer perceptron, residuals around them.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.project, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x):
        b, t, f = x.shape
        q, k, v = self.project(self.norm1(x)).view(b, t, 3, self.heads, f // self.heads).permute(2, 0, 3, 1, 4)
        heads = torch.softmax(q @ k.transpose(-2, -1) / (f // self.heads) ** 0.5, dim=-1) @ v
        x = x + self.out(heads.transpose(1, 2).reshape(b, t, f))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def get_inputs():
    return [torch.randn(2, 64, 64)]


def get_init_inputs():
    return [64, 4]
