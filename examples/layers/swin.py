"""Swin tiny in 16 bits."""
import timm
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("swin_tiny_patch4_window7_224").to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(x)


def get_inputs():
    return [torch.randn(64, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
