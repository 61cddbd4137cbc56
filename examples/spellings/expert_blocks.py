"""Rows that are sorted by expert, in blocks of 64, of which each says whose weights it is multiplied by."""
import torch


class Model(torch.nn.Module):
    def forward(self, x, weight, expert):
        return torch.einsum("bmk,bkn->bmn", x, weight[expert])


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(128, 64, 1024, dtype=type),
        torch.randn(16, 1024, 2048, dtype=type),
        torch.randint(0, 16, (128,)),
    ]


def get_init_inputs():
    return []
