"""A linear layer of whole numbers of 8 bits, multiplied in f32: a scale for each token and each output, as SmoothQuant has them."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=4096, outputs=4096):
        super().__init__()
        self.weight = nn.Parameter(torch.randint(-128, 128, (outputs, width), dtype=torch.int8), requires_grad=False)
        self.scale = nn.Parameter(torch.rand(outputs, 1), requires_grad=False)
        self.bias = nn.Parameter(torch.rand(outputs), requires_grad=False)

    def forward(self, x, x_scale):
        return ((x.float() * x_scale) @ (self.weight.float() * self.scale).t() + self.bias).to(torch.bfloat16)


def get_inputs():
    return [torch.randint(-128, 128, (4096, 4096), dtype=torch.int8), torch.rand(4096, 1)]


def get_init_inputs():
    return []
