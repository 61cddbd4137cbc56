"""A token of each of 8 sequences through one layer, keys and values in transformers' StaticCache."""
import torch
from torch import nn
from transformers import LlamaConfig, StaticCache
from transformers.models.llama.modeling_llama import LlamaModel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        config = LlamaConfig(
            hidden_size=4096,
            intermediate_size=14336,
            num_hidden_layers=1,
            num_attention_heads=32,
            num_key_value_heads=8,
            vocab_size=128,
            max_position_embeddings=4096,
            attn_implementation="sdpa",
        )
        self.model = LlamaModel(config).eval().to(torch.bfloat16)
        self.cache = StaticCache(config=config, max_cache_len=4096)
        self.cache.early_initialization(batch_size=8, num_heads=8, head_dim=128, dtype=torch.bfloat16, device=torch.get_default_device())

    def forward(self, x, position):
        made = self.model(inputs_embeds=x, past_key_values=self.cache, cache_position=position, position_ids=position[None])
        return made.last_hidden_state


def get_inputs():
    return [torch.randn(8, 1, 4096, dtype=torch.bfloat16), torch.randint(1, 4096, (1,))]


def get_init_inputs():
    return []
