# A small perceptron of three layers with ReLU between them.
# Two thirds of the time goes to the products; the activations can ride along.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, outputs),
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return [512, 1024, 256]
