"""Attention to the last 512 keys, heads in groups that share theirs, spelled out, in f16."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, window=512):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        at = torch.arange(q.shape[2], device=q.device)
        ahead = at[None, :] - at[:, None]
        hidden = (ahead > 0) | (ahead <= -self.window)
        return torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v


def get_inputs():
    return [torch.randn(2, heads, 4096, 128, dtype=torch.float16) for heads in (32, 8, 8)]


def get_init_inputs():
    return []
