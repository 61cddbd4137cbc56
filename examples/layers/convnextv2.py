"""ConvNeXt V2 atto as timm has it: norms over all pixels of a channel."""
import torch
import torch.nn as nn
import timm


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("convnextv2_atto", pretrained=False).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(x)


def get_inputs():
    return [torch.randn(16, 3, 224, 224, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
