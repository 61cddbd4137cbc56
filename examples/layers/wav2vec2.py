"""Wav2vec2 base with two of its layers, from the signal on."""
import torch
import torch.nn as nn
from transformers import Wav2Vec2Config, Wav2Vec2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Wav2Vec2Model(Wav2Vec2Config(num_hidden_layers=2, apply_spec_augment=False)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(input_values=x).last_hidden_state


def get_inputs():
    return [torch.randn(8, 160000, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
