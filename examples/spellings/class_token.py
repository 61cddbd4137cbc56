"""The last layer of a vision transformer, of whose tokens a classifier reads the first."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width=768, heads=12, classes=1000):
        super().__init__()
        self.heads = heads
        of = dict(dtype=torch.bfloat16)
        self.before, self.between, self.last = (nn.LayerNorm(width, **of) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width, **of), nn.Linear(width, width, **of)
        self.up, self.down = nn.Linear(width, 4 * width, **of), nn.Linear(4 * width, width, **of)
        self.classes = nn.Linear(width, classes, **of)

    def forward(self, x):
        images, tokens, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(images, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(images, tokens, width))
        x = x + self.down(F.gelu(self.up(self.between(x))))
        return self.classes(self.last(x)[:, 0])


def get_inputs():
    return [torch.randn(64, 197, 768, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
