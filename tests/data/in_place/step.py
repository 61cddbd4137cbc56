import torch


class Model(torch.nn.Module):
    """A step: a cache that it holds, one that it is given and returns, a place that counts on, a state of which a copy is returned."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)
        self.register_buffer("keys", torch.zeros(2, 12, 16))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("state", torch.zeros(2, 16), persistent=False)

    def forward(self, x, values):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, self.place, k)
        values[:, 3:4] = v
        y = (torch.softmax(q @ self.keys.transpose(1, 2) * 0.25, -1) @ values)[:, 0]
        self.state.mul_(0.5).add_(y)
        self.place += 1
        return self.state.clone(), values


def get_inputs():
    return [torch.randn(2, 1, 16), torch.randn(2, 12, 16)]


def get_init_inputs():
    return []
