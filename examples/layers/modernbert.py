"""Three layers of ModernBERT: one of all positions, two of windows."""
import torch
import torch.nn as nn
from transformers import ModernBertConfig, ModernBertModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        config = ModernBertConfig(vocab_size=1, hidden_size=768, intermediate_size=1152, num_hidden_layers=3, num_attention_heads=12, pad_token_id=0)
        self.model = ModernBertModel(config).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(16, 1024, 768, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
