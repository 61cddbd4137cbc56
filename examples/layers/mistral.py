"""Two layers of Mistral 7B whose attention looks back 512 positions."""
import torch
import torch.nn as nn
from transformers import MistralConfig, MistralModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = MistralModel(MistralConfig(
            vocab_size=1, num_hidden_layers=2, hidden_size=4096, intermediate_size=14336,
            sliding_window=512, pad_token_id=0)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(2, 1024, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
