# One step of an LSTM: four gates from two products, two states out.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.input = nn.Linear(features, 4 * hidden)
        self.state = nn.Linear(hidden, 4 * hidden)

    def forward(self, x, h, c):
        i, f, g, o = (self.input(x) + self.state(h)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


def get_inputs():
    return [torch.randn(64, 128), torch.randn(64, 128), torch.randn(64, 128)]


def get_init_inputs():
    return [128, 128]
