"""SegFormer B2's encoder: tokens of images, keys of fewer places."""
import torch
import torch.nn as nn
from transformers import SegformerConfig, SegformerModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = SegformerModel(SegformerConfig(depths=[1, 1, 1, 1], hidden_sizes=[64, 128, 320, 512])).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(pixel_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(8, 3, 512, 512, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
