"""ViT base with two of its layers, from pixels on."""
import torch
import torch.nn as nn
from transformers import ViTConfig, ViTModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = ViTModel(ViTConfig(num_hidden_layers=2)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(64, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
