"""Attention with a bias for each pair of places, spelled out, in bf16."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k, v, bias):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + bias
        return torch.softmax(scores, -1) @ v


def get_inputs():
    q, k, v = (torch.randn(8, 16, 1024, 64, dtype=torch.bfloat16) for _ in range(3))
    return [q, k, v, torch.randn(1, 16, 1024, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
