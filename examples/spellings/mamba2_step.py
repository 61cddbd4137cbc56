"""A decode step of a Mamba-2 layer: heads of 64 x 128 numbers, each with one decay, beside the window."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, batch=8, heads=64, head=64, state=128, window=4):
        super().__init__()
        width = heads * head + 2 * state
        self.heads, self.head, self.state = heads, head, state
        self.kernel = nn.Parameter(torch.randn(width, window, dtype=torch.bfloat16) * 0.3)
        self.bias = nn.Parameter(torch.randn(width, dtype=torch.bfloat16) * 0.1)
        self.A_log, self.D = nn.Parameter(torch.rand(heads)), nn.Parameter(torch.ones(heads))
        self.dt_bias = nn.Parameter(torch.rand(heads) * 0.1)
        self.register_buffer("conv_state", torch.zeros(batch, width, window, dtype=torch.bfloat16))
        self.register_buffer("ssm_state", torch.zeros(batch, heads, head, state))

    def forward(self, xBC, dt, z):
        self.conv_state.copy_(torch.roll(self.conv_state, shifts=-1, dims=-1))
        self.conv_state[:, :, -1] = xBC
        xBC = F.silu(torch.sum(self.conv_state * self.kernel, dim=-1) + self.bias)
        x, B, C = torch.split(xBC, [self.heads * self.head, self.state, self.state], dim=-1)
        dt = F.softplus(dt.float() + self.dt_bias)
        dA = torch.exp(dt * -torch.exp(self.A_log))
        x = x.view(-1, self.heads, self.head).float()
        dBx = torch.einsum("bh,bn,bhp->bhpn", dt, B.float(), x)
        self.ssm_state.copy_(self.ssm_state * dA[:, :, None, None] + dBx)
        y = torch.einsum("bhpn,bn->bhp", self.ssm_state, C.float()) + self.D[:, None] * x
        return (y.reshape(-1, self.heads * self.head) * F.silu(z.float())).to(z.dtype)


def get_inputs():
    half = torch.bfloat16
    return [torch.randn(8, 64 * 64 + 256, dtype=half), torch.randn(8, 64, dtype=half),
            torch.randn(8, 64 * 64, dtype=half)]


def get_init_inputs():
    return []
