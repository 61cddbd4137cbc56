"""A LLaMA-like block in bf16: RMS norm, rotary embedding, grouped-query causal attention, SwiGLU."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width=2048, heads=16, key_heads=4, hidden=5632, length=2048):
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
        frequency = 10000.0 ** (-torch.arange(0, self.dim, 2).float() / self.dim)
        angle = torch.outer(torch.arange(length).float(), frequency)
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1).to(torch.bfloat16))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1).to(torch.bfloat16))

    def norm(self, x, weight):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def attention(self, x):
        batch, length, width = x.shape
        q = self.turned(self.q(x).view(batch, length, self.heads, self.dim).transpose(1, 2))
        k = self.turned(self.k(x).view(batch, length, self.key_heads, self.dim).transpose(1, 2))
        v = self.v(x).view(batch, length, self.key_heads, self.dim).transpose(1, 2)
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(made.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm(x, self.before_attention))
        y = self.norm(x, self.before_gate)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def get_inputs():
    return [torch.randn(4, 2048, 2048, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
