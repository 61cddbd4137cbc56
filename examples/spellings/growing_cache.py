"""A new token of each sequence through a layer's attention, whose cache grows by it: rotary embeddings, keys that are repeated."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def rotated(x, cos, sin):
    front, back = x.chunk(2, -1)
    return x * cos + torch.cat((-back, front), -1) * sin


def repeat_kv(x, n):
    b, h, s, d = x.shape
    return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)


class Model(nn.Module):
    def __init__(self, width=4096, heads=32, kv_heads=8, dim=128):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, dim
        self.q, self.o = (nn.Linear(*sides, bias=False, dtype=torch.bfloat16) for sides in ((width, heads * dim), (heads * dim, width)))
        self.k, self.v = (nn.Linear(width, kv_heads * dim, bias=False, dtype=torch.bfloat16) for _ in range(2))

    def forward(self, x, keys, values, cos, sin):
        batch = x.shape[0]
        q = rotated(self.q(x).view(batch, 1, self.heads, self.dim).transpose(1, 2), cos, sin)
        k = rotated(self.k(x).view(batch, 1, self.kv_heads, self.dim).transpose(1, 2), cos, sin)
        v = self.v(x).view(batch, 1, self.kv_heads, self.dim).transpose(1, 2)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        each = self.heads // self.kv_heads
        made = F.scaled_dot_product_attention(q, repeat_kv(k, each), repeat_kv(v, each))
        return self.o(made.transpose(1, 2).reshape(batch, 1, -1))


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(8, 1, 4096, dtype=type),
        torch.randn(8, 8, 4095, 128, dtype=type),
        torch.randn(8, 8, 4095, 128, dtype=type),
        torch.rand(1, 128, dtype=type),
        torch.rand(1, 128, dtype=type),
    ]


def get_init_inputs():
    return []
