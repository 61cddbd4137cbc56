"""A new token whose key and value are written into caches of the module by a slice, and attention over all that is filled."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, batch=8, heads=8, length=4096, dim=128):
        super().__init__()
        self.filled = length // 2
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, heads, length, dim, dtype=torch.bfloat16))

    def forward(self, q, k, v):
        end = self.filled + 1
        self.keys[:, :, self.filled : end] = k
        self.values[:, :, self.filled : end] = v
        return F.scaled_dot_product_attention(q, self.keys[:, :, :end], self.values[:, :, :end], enable_gqa=True)


def get_inputs():
    return [torch.randn(8, heads, 1, 128, dtype=torch.bfloat16) for heads in (32, 8, 8)]


def get_init_inputs():
    return []
