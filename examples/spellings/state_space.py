"""The state space dual of Mamba 2 in chunks, written out as sums of products: what a chunk's positions give each other is
attention without a softmax, whose scores decay from place to place, and what a chunk hands on are products."""
import torch

CHUNK = 256


def sums_between(x):
    """Of [.., n]: at [.., i, j] the sum from j on up to i, which is -inf where j comes after i."""
    n = x.shape[-1]
    before, upto = (torch.tril(torch.ones(n, n, device=x.device, dtype=torch.bool), diagonal) for diagonal in (-1, 0))
    sums = x[..., None].expand(*x.shape, n).masked_fill(~before, 0).cumsum(-2)
    return sums.masked_fill(~upto, -torch.inf)


class Model(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.rates = torch.nn.Parameter(torch.log(torch.arange(1, heads + 1).float()))

    def forward(self, x, steps, b, c):
        batch, places, heads, width = x.shape
        x, decays = (x * steps[..., None]).float(), steps.float() * -torch.exp(self.rates)
        b, c = (t.float().repeat_interleave(heads // t.shape[2], dim=2) for t in (b, c))
        x, decays, b, c = (t.reshape(batch, -1, CHUNK, *t.shape[2:]) for t in (x, decays, b, c))
        decays = decays.permute(0, 3, 1, 2)
        sums = decays.cumsum(-1)
        scores = (c[:, :, :, None] * b[:, :, None]).sum(-1) * torch.exp(sums_between(decays)).permute(0, 2, 3, 4, 1)
        inside = (scores[..., None] * x[:, :, None]).sum(3)
        kept = b * torch.exp(sums[..., -1:] - sums).permute(0, 2, 3, 1)[..., None]
        states = (kept[..., None, :] * x[..., None]).sum(2)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)
        between = torch.exp(sums_between(torch.nn.functional.pad(sums[..., -1], (1, 0)))).transpose(1, 3)
        states = (between[..., None, None] * states[:, :, None]).sum(1)[:, :-1]
        handed = (c[..., None, :] * states[:, :, None]).sum(-1) * torch.exp(sums).permute(0, 2, 3, 1)[..., None]
        return (inside + handed).reshape(batch, places, heads, width).to(torch.bfloat16)


def get_inputs():
    of = dict(dtype=torch.bfloat16)
    return [torch.randn(2, 1024, 32, 64, **of), torch.rand(2, 1024, 32, **of), torch.randn(2, 1024, 8, 128, **of), torch.randn(2, 1024, 8, 128, **of)]


def get_init_inputs():
    return [32]
