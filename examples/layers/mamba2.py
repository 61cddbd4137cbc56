"""Two layers of Mamba 2, whose chunks are written out in PyTorch."""
import torch
import torch.nn as nn
from transformers import Mamba2Config, Mamba2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Mamba2Model(Mamba2Config(
            vocab_size=1, num_hidden_layers=2, hidden_size=1024, num_heads=32, head_dim=64,
            pad_token_id=0)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(2, 512, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
