"""A decode step of a Mamba layer: its window and its state are written in place, the state in f32."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, batch=16, width=4096, state=16, window=4):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(width, 1, window, dtype=torch.bfloat16) * 0.3)
        self.bias = nn.Parameter(torch.randn(width, dtype=torch.bfloat16) * 0.1)
        self.A_log, self.D = nn.Parameter(torch.rand(width, state)), nn.Parameter(torch.ones(width))
        self.dt_bias = nn.Parameter(torch.rand(width) * 0.1)
        self.register_buffer("conv_state", torch.zeros(batch, width, window, dtype=torch.bfloat16))
        self.register_buffer("ssm_state", torch.zeros(batch, width, state))

    def forward(self, x, dt, B, C, z):
        conv_state = torch.cat([self.conv_state[:, :, 1:], x[:, :, None]], -1)
        self.conv_state.copy_(conv_state)
        x = F.silu(torch.sum(conv_state * self.kernel[:, 0, :], dim=-1) + self.bias)
        dt = F.softplus(dt + self.dt_bias)
        dA = torch.exp(dt[:, :, None].float() * -torch.exp(self.A_log))
        dB = dt[:, :, None].float() * B[:, None, :].float()
        self.ssm_state.copy_(self.ssm_state * dA + dB * x[:, :, None].float())
        y = torch.einsum("bdn,bn->bd", self.ssm_state, C.float()) + self.D * x.float()
        return (y * F.silu(z.float())).to(x.dtype)


def get_inputs():
    half = torch.bfloat16
    return [torch.randn(16, 4096, dtype=half), torch.randn(16, 4096, dtype=half), torch.randn(16, 16, dtype=half),
            torch.randn(16, 16, dtype=half), torch.randn(16, 4096, dtype=half)]


def get_init_inputs():
    return []
