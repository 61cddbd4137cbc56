"""A step of AdamW over a flat parameter of 16 M elements, in bf16 with moments in f32, all of it written in place."""
import torch
import torch.nn as nn

LR, BETA1, BETA2, EPS, DECAY = 3e-4, 0.9, 0.95, 1e-8, 0.1
STEP = 100


class Model(nn.Module):
    def forward(self, param, grad, exp_avg, exp_avg_sq):
        g = grad.float()
        exp_avg.lerp_(g, 1 - BETA1)
        exp_avg_sq.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        denom = (exp_avg_sq.sqrt() / (1 - BETA2**STEP) ** 0.5).add_(EPS)
        param.copy_(param.float().mul(1 - LR * DECAY).addcdiv(exp_avg, denom, value=-LR / (1 - BETA1**STEP)))


def get_inputs():
    n = 16 << 20
    return [torch.randn(n, dtype=torch.bfloat16), torch.randn(n, dtype=torch.bfloat16), torch.randn(n), torch.rand(n)]


def get_init_inputs():
    return []
