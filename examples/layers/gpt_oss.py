"""Two layers of GPT-OSS: sinks beside the scores, four of 32 experts for each position."""
import torch
import torch.nn as nn
from transformers import GptOssConfig, GptOssModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = GptOssModel(GptOssConfig(
            vocab_size=1, num_hidden_layers=2, num_local_experts=32, pad_token_id=0)).to(torch.bfloat16).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def get_inputs():
    return [torch.randn(1, 1024, 2880, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
