"""Two layers of CLIP's vision model L/14, from pixels on."""
import torch
import torch.nn as nn
from transformers import CLIPVisionConfig, CLIPVisionModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = CLIPVisionModel(CLIPVisionConfig(
            num_hidden_layers=2, hidden_size=1024, intermediate_size=4096, num_attention_heads=16,
            patch_size=14)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(32, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
