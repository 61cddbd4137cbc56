"""Two layers of DeepSeek V2 Lite: latent attention, positions as complex numbers, one dense layer and one of experts."""
import torch
import torch.nn as nn
from transformers import DeepseekV2Config, DeepseekV2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = DeepseekV2Model(DeepseekV2Config(
            vocab_size=1, num_hidden_layers=2, hidden_size=2048, intermediate_size=10944,
            moe_intermediate_size=1408, num_attention_heads=16, n_routed_experts=64,
            num_experts_per_tok=6, q_lora_rank=None, n_group=1, topk_group=1,
            topk_method="greedy", norm_topk_prob=False, first_k_dense_replace=1, pad_token_id=0)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(1, 1024, 2048, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
