"""A layer of Qwen3 8B over a prompt: heads of q and k are normalized before they are turned."""
import torch
import torch.nn as nn
from transformers import Qwen3Config, Qwen3Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        config = Qwen3Config(vocab_size=1, hidden_size=4096, intermediate_size=12288, num_hidden_layers=1, num_attention_heads=32, num_key_value_heads=8, head_dim=128, pad_token_id=None)
        self.model = Qwen3Model(config).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(2, 2048, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
