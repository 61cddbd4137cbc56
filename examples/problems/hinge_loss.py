# The hinge loss of predictions against targets of -1 or 1, averaged to one number.
# The targets are a vector that is broadcast along the rows.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean(torch.clamp(1 - predictions * targets, min=0))


def get_inputs():
    return [torch.rand(4096, 1024), torch.randint(0, 2, (1024,)).float() * 2 - 1]


def get_init_inputs():
    return []
