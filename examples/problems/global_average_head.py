# The end of an image classifier: mean over all places, a product, the probabilities' logarithms.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, classes: int):
        super().__init__()
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return torch.log_softmax(self.head(x.mean(dim=(2, 3))), dim=1)


def get_inputs():
    return [torch.randn(16, 256, 7, 7)]


def get_init_inputs():
    return [256, 100]
