"""A language model's loss: logits converted to f32, labels shifted and padded, the padding left out."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4096, 32000, bias=False, dtype=torch.bfloat16)

    def forward(self, x, t):
        l = self.head(x).float()
        s = F.pad(t, (0, 1), value=-100)[..., 1:].contiguous()
        return F.cross_entropy(l.view(-1, 32000), s.view(-1), ignore_index=-100)


def get_inputs():
    return [torch.randn(4, 1024, 4096, dtype=torch.bfloat16), torch.randint(0, 32000, (4, 1024))]


def get_init_inputs():
    return []
