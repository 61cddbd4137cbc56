"""Causal attention with a sink a head, as GPT-OSS has it: a learned score of a column beside the keys', whose probability
goes nowhere. No score is in memory, and neither is that column."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sinks = torch.nn.Parameter(torch.randn(64, dtype=torch.bfloat16))

    def forward(self, q, k, v):
        batch, heads, tokens, width = q.shape
        share = heads // k.shape[1]
        scores = q @ k.repeat_interleave(share, 1).mT * width**-0.5
        scores = scores + torch.full((tokens, tokens), float("-inf"), dtype=q.dtype, device=q.device).triu(1)
        sinks = self.sinks.reshape(1, heads, 1, 1).expand(batch, heads, tokens, 1)
        columns = torch.cat([scores, sinks], -1)
        columns = columns - columns.amax(-1, keepdim=True)
        seen = columns.softmax(-1, dtype=torch.float32)[..., :-1].to(q.dtype)
        return seen @ v.repeat_interleave(share, 1)


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(2, 64, 2048, 64, dtype=type),
        torch.randn(2, 8, 2048, 64, dtype=type),
        torch.randn(2, 8, 2048, 64, dtype=type),
    ]


def get_init_inputs():
    return []
