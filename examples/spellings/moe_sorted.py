"""Experts of a mixture: tokens sorted by expert, two grouped products with a gate, and the weighted sum put back."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, experts=32, width=1024, inner=1024, chosen=4):
        super().__init__()
        type = torch.bfloat16
        self.chosen = chosen
        self.gate = torch.nn.Linear(width, experts, bias=False, dtype=type)
        self.up = torch.nn.Parameter(torch.randn(experts, width, 2 * inner, dtype=type) * width**-0.5)
        self.down = torch.nn.Parameter(torch.randn(experts, inner, width, dtype=type) * inner**-0.5)

    def forward(self, x):
        share, expert = self.gate(x).float().softmax(-1).topk(self.chosen, -1)
        share = share / share.sum(-1, keepdim=True)
        order = torch.argsort(expert.reshape(-1), stable=True)
        ends = torch.cumsum(torch.bincount(expert.reshape(-1), minlength=self.up.shape[0]), 0).to(torch.int32)
        token = order // self.chosen
        gate, up = torch._grouped_mm(x[token], self.up, offs=ends).chunk(2, -1)
        made = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        made = made * share.reshape(-1)[order].to(made.dtype)[:, None]
        return torch.zeros_like(x).index_add(0, token, made)


def get_inputs():
    return [torch.randn(4096, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
