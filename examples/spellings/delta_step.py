"""A decode step of a gated delta rule: what the state holds for the key already is taken off the value."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, batch=16, heads=16, keys=128, values=128):
        super().__init__()
        self.register_buffer("state", torch.zeros(batch, heads, keys, values))

    def forward(self, q, k, v, gate, beta):
        state = self.state * gate.exp()[..., None, None]
        known = (state * k[..., None]).sum(dim=-2)
        state = state + k[..., None] * ((v - known) * beta[..., None])[..., None, :]
        self.state.copy_(state)
        return (state * q[..., None]).sum(dim=-2)


def get_inputs():
    return [torch.randn(16, 16, 128), torch.randn(16, 16, 128) * 0.1, torch.randn(16, 16, 128),
            -torch.rand(16, 16), torch.rand(16, 16)]


def get_init_inputs():
    return []
