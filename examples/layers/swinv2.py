"""Swin V2 tiny with two layers a stage, from pixels on: cosines as scores."""
import torch
import torch.nn as nn
from transformers import Swinv2Config, Swinv2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Swinv2Model(Swinv2Config(image_size=256, window_size=8, depths=[2, 2, 2, 2])).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(16, 3, 256, 256, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
