"""A window of the last 4096 keys as a ring that the module holds: the new one takes the oldest one's place."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, batch=8, heads=8, window=4096, dim=128):
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, window, heads, dim, dtype=torch.bfloat16))

    def forward(self, q, k, v, position):
        sequence, place = torch.arange(q.shape[0], device=q.device), position % self.keys.shape[1]
        self.keys[sequence, place] = k
        self.values[sequence, place] = v
        seen = torch.arange(self.keys.shape[1], device=q.device)[None] <= position[:, None]
        made = F.scaled_dot_product_attention(q[:, :, None], self.keys.transpose(1, 2), self.values.transpose(1, 2),
                                              attn_mask=seen[:, None, None], enable_gqa=True)
        return made[:, :, 0]


def get_inputs():
    q, k, v = (torch.randn(8, heads, 128, dtype=torch.bfloat16) for heads in (32, 8, 8))
    return [q, k, v, torch.randint(1, 100000, (8,))]


def get_init_inputs():
    return []
