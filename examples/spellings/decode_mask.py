"""A new token of each sequence against as many of its cached keys as it has."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q, k, v, lengths):
        m = (torch.arange(k.shape[2], device=q.device)[None, None, None] < lengths[:, None, None, None])
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m)


def get_inputs():
    type = torch.bfloat16
    return [
        torch.randn(16, 32, 1, 128, dtype=type),
        torch.randn(16, 32, 4096, 128, dtype=type),
        torch.randn(16, 32, 4096, 128, dtype=type),
        torch.randint(1, 4096, (16,)),
    ]


def get_init_inputs():
    return []
