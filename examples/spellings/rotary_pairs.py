"""A rotary embedding that turns neighbouring elements, as GPT-J has it."""
import torch


class Model(torch.nn.Module):
    def forward(self, x, cos, sin):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)


def get_inputs():
    type = torch.float16
    return [
        torch.randn(4, 16, 2048, 128, dtype=type),
        torch.rand(2048, 64, dtype=type),
        torch.rand(2048, 64, dtype=type),
    ]


def get_init_inputs():
    return []
