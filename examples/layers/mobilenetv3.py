"""MobileNet V3 large as timm has it."""
import torch
import torch.nn as nn
import timm


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("mobilenetv3_large_100", pretrained=False).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(x)


def get_inputs():
    return [torch.randn(16, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
