"""DINOv2 large with two of its layers, from pixels on."""
import torch
import torch.nn as nn
from transformers import Dinov2Config, Dinov2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Dinov2Model(Dinov2Config(hidden_size=1024, num_attention_heads=16, num_hidden_layers=2, image_size=518)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(16, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
