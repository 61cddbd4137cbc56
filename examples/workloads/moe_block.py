"""A mixture of experts: router, the best four of each token, SwiGLU by grouped products, and their weighted sum."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width=2048, hidden=1408, experts=64, best=4):
        super().__init__()
        self.experts, self.best = experts, best
        self.router = nn.Linear(width, experts, bias=False, dtype=torch.bfloat16)
        self.gate_up = nn.Parameter(torch.randn(experts, 2 * hidden, width, dtype=torch.bfloat16) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, width, hidden, dtype=torch.bfloat16) * hidden**-0.5)

    def forward(self, x):
        chances = F.softmax(self.router(x).float(), -1)
        weights, chosen = chances.topk(self.best, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)
        every = torch.arange(self.experts, device=x.device)
        ends = (chosen.flatten()[None, :] == every[:, None]).sum(1).cumsum(0).to(torch.int32)
        rows = x[order // self.best]
        gate, up = torch._grouped_mm(rows, self.gate_up.transpose(1, 2), offs=ends).chunk(2, -1)
        made = torch._grouped_mm(F.silu(gate) * up, self.down.transpose(1, 2), offs=ends)
        made = made * weights.flatten()[order, None].to(made.dtype)
        return torch.zeros_like(x).index_add(0, order // self.best, made)


def inputs(tokens=8192, width=2048):
    return [torch.randn(tokens, width, dtype=torch.bfloat16)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
