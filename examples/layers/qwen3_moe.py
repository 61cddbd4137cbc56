"""A layer of Qwen3 30B-A3B over a prompt: eight experts of 128 a token."""
import torch
import torch.nn as nn
from transformers import Qwen3MoeConfig, Qwen3MoeModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        config = Qwen3MoeConfig(vocab_size=1, hidden_size=2048, moe_intermediate_size=768, num_hidden_layers=1, num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_experts=128, num_experts_per_tok=8, norm_topk_prob=True, pad_token_id=None, experts_implementation="grouped_mm")
        self.model = Qwen3MoeModel(config).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(1, 2048, 2048, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
