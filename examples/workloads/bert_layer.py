"""A layer of BERT in f16, with padded sequences: a mask says which keys are there."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width=768, heads=12, hidden=3072):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.behind_attention = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.behind_hidden = nn.LayerNorm(width)
        self.half()

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = self.behind_attention(x + self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return self.behind_hidden(x + self.down(F.gelu(self.up(x))))


def get_inputs():
    return [torch.randn(32, 512, 768, dtype=torch.float16), torch.rand(32, 512) > 0.1]


def get_init_inputs():
    return []
