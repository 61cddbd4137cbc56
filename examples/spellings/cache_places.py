"""A new token of each sequence, whose key and value are written at its own place of the cache, which is given back."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q, k, v, keys, values, place):
        sequence = torch.arange(q.shape[0], device=q.device)
        keys, values = keys.index_put((sequence, place), k), values.index_put((sequence, place), v)
        seen = torch.arange(keys.shape[1], device=q.device)[None] <= place[:, None]
        made = F.scaled_dot_product_attention(q[:, :, None], keys.transpose(1, 2), values.transpose(1, 2),
                                              attn_mask=seen[:, None, None], enable_gqa=True)
        return made[:, :, 0], keys, values


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(8, 32, 128, dtype=type),
        torch.randn(8, 8, 128, dtype=type),
        torch.randn(8, 8, 128, dtype=type),
        torch.randn(8, 4096, 8, 128, dtype=type),
        torch.randn(8, 4096, 8, 128, dtype=type),
        torch.randint(1, 4096, (8,)),
    ]


def get_init_inputs():
    return []
