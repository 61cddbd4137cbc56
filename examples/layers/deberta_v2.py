"""Two layers of DeBERTa V3 base, whose scores look up how far keys are from queries."""
import torch
import torch.nn as nn
from transformers import DebertaV2Config, DebertaV2Model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = DebertaV2Model(DebertaV2Config(
            vocab_size=1, num_hidden_layers=2, hidden_size=768, num_attention_heads=12,
            intermediate_size=3072, relative_attention=True, position_buckets=256,
            pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm")).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x).last_hidden_state


def get_inputs():
    return [torch.randn(16, 256, 768, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
