"""A new token of each sequence, whose key and value are written into a cache that the module holds, at a place that is given."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, batch=8, heads=8, length=4096, dim=128):
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, heads, length, dim, dtype=torch.bfloat16))

    def forward(self, q, k, v, place):
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        seen = torch.arange(self.keys.shape[2], device=q.device)[None, None, None] <= place[None, None, :, None]
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen, enable_gqa=True)


def get_inputs():
    q, k, v = (torch.randn(8, heads, 1, 128, dtype=torch.bfloat16) for heads in (32, 8, 8))
    return [q, k, v, torch.randint(1, 4096, (1,))]


def get_init_inputs():
    return []
