"""A LLaMA-like layer for one new token of each sequence: its query attends to a long cache of keys and values.

The token's own key and value are what the layer gives back beside its result, for whoever keeps the cache.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width=4096, heads=32, key_heads=8, hidden=11008, position=8192):
        super().__init__()
        self.heads, self.key_heads, self.dim = heads, key_heads, width // heads
        self.q = nn.Linear(width, width, bias=False, dtype=torch.bfloat16)
        self.k = nn.Linear(width, key_heads * self.dim, bias=False, dtype=torch.bfloat16)
        self.v = nn.Linear(width, key_heads * self.dim, bias=False, dtype=torch.bfloat16)
        self.o = nn.Linear(width, width, bias=False, dtype=torch.bfloat16)
        self.gate = nn.Linear(width, hidden, bias=False, dtype=torch.bfloat16)
        self.up = nn.Linear(width, hidden, bias=False, dtype=torch.bfloat16)
        self.down = nn.Linear(hidden, width, bias=False, dtype=torch.bfloat16)
        self.before_attention = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))
        self.before_gate = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))
        angle = position * 10000.0 ** (-torch.arange(0, self.dim, 2).float() / self.dim)
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1).to(torch.bfloat16))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1).to(torch.bfloat16))

    def norm(self, x, weight):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x, keys, values):
        batch, width = x.shape
        y = self.norm(x, self.before_attention)
        q = self.turned(self.q(y).view(batch, self.heads, 1, self.dim))
        key = self.turned(self.k(y).view(batch, self.key_heads, 1, self.dim))
        value = self.v(y).view(batch, self.key_heads, 1, self.dim)
        seen = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        x = x + self.o(seen.reshape(batch, width))
        y = self.norm(x, self.before_gate)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), key, value


def inputs(batch=16, width=4096, key_heads=8, dim=128, length=8192):
    return [torch.randn(batch, width, dtype=torch.bfloat16), torch.randn(batch, key_heads, length, dim, dtype=torch.bfloat16),
            torch.randn(batch, key_heads, length, dim, dtype=torch.bfloat16)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
