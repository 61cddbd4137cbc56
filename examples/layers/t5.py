"""Two layers of T5 base's encoder: biases of distances, no scale."""
import torch
import torch.nn as nn
from transformers import T5Config, T5EncoderModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = T5EncoderModel(T5Config(vocab_size=1, d_model=768, d_kv=64, d_ff=2048, num_layers=2, num_heads=12, feed_forward_proj="gated-gelu")).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x).last_hidden_state


def get_inputs():
    return [torch.randn(16, 512, 768, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
