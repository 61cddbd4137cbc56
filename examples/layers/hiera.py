"""Hiera tiny with a layer a stage, from pixels on: attention in units of a mask."""
import torch
import torch.nn as nn
from transformers import HieraConfig, HieraModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = HieraModel(HieraConfig(depths=[1, 1, 1, 1])).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(16, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
