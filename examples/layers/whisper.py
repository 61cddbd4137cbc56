"""Whisper small's encoder with two of its layers, from mel bands on."""
import torch
import torch.nn as nn
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = WhisperEncoder(WhisperConfig(d_model=768, encoder_layers=2, encoder_attention_heads=12, encoder_ffn_dim=3072)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(input_features=x).last_hidden_state


def get_inputs():
    return [torch.randn(8, 80, 3000, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
