"""A language model's loss as most training code spells it: each token's logits against the next token, the last row cut off."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4096, 32000, bias=False, dtype=torch.bfloat16)

    def forward(self, x, t):
        logits = self.head(x).float()
        shift_logits = logits[..., :-1, :].contiguous()
        shift_labels = t[..., 1:].contiguous()
        return F.cross_entropy(shift_logits.view(-1, 32000), shift_labels.view(-1))


def get_inputs():
    return [torch.randn(4, 1024, 4096, dtype=torch.bfloat16), torch.randint(0, 32000, (4, 1024))]


def get_init_inputs():
    return []
