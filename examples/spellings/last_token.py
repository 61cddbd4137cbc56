"""What a prompt is answered with, as short scripts write it: the norm and the logits of all tokens, of which the last one's are
looked at."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=2048, words=32000):
        super().__init__()
        self.norm = nn.RMSNorm(width, dtype=torch.bfloat16)
        self.head = nn.Linear(width, words, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        return torch.softmax(self.head(self.norm(x))[:, -1].float() / 0.8, dim=-1)


def get_inputs():
    return [torch.randn(8, 512, 2048, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
