"""Networks of examples/layers with their images' channels last, compiled: as PyTorch runs them fastest."""
import timm
import torch
import torch.nn as nn


class Last(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.model = timm.create_model(name).to(torch.bfloat16).eval()
        self.compiled = []  # no module beside the model: its parameters have one name

    def forward(self, x):
        if not self.compiled:
            self.model.to(memory_format=torch.channels_last)
            self.compiled.append(torch.compile(self.model))
        return self.compiled[0](x.contiguous(memory_format=torch.channels_last))


class ResNet50(Last):
    def __init__(self):
        super().__init__("resnet50")


class EfficientNet(Last):
    def __init__(self):
        super().__init__("efficientnet_b0")


class ConvNeXt(Last):
    def __init__(self):
        super().__init__("convnext_tiny")
