"""A cache of 8 bits with a scale a key: the new key and value are rounded into it, and attention reads it."""
import torch
import torch.nn.functional as F


def rounded(x):
    scale = x.float().abs().amax(-1, keepdim=True) / 127 + 1e-8
    return (x.float() / scale).round().to(torch.int8), scale


class Model(torch.nn.Module):
    def __init__(self, batch=8, heads=8, length=4096, dim=128):
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, heads, length, dim, dtype=torch.int8))
            self.register_buffer(name[:-1] + "_scales", torch.ones(batch, heads, length, 1))

    def forward(self, q, k, v, place):
        for cache, scales, new in ((self.keys, self.key_scales, k), (self.values, self.value_scales, v)):
            whole, scale = rounded(new)
            cache.index_copy_(2, place, whole)
            scales.index_copy_(2, place, scale)
        keys, values = ((cache * scales).to(q.dtype) for cache, scales in ((self.keys, self.key_scales), (self.values, self.value_scales)))
        seen = torch.arange(keys.shape[2], device=q.device)[None, None, None] <= place[None, None, :, None]
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen, enable_gqa=True)


def get_inputs():
    q, k, v = (torch.randn(8, heads, 1, 128, dtype=torch.bfloat16) for heads in (32, 8, 8))
    return [q, k, v, torch.randint(1, 4096, (1,))]


def get_init_inputs():
    return []
