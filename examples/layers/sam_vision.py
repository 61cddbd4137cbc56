"""Two layers of SAM's vision model, from pixels on: one looks at windows, one at all of the image."""
import torch
import torch.nn as nn
from transformers import SamVisionConfig, SamVisionModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = SamVisionModel(SamVisionConfig(num_hidden_layers=2, global_attn_indexes=[1])).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(1, 3, 1024, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
