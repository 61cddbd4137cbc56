"""Two layers of GPT-2 over a prompt."""
import torch
import torch.nn as nn
from transformers import GPT2Config, GPT2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        config = GPT2Config(vocab_size=1, n_embd=1024, n_layer=2, n_head=16)
        self.model = GPT2Model(config).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(8, 1024, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
