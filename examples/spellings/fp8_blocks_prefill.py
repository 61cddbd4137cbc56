"""DeepSeek-V3's linear layer of many tokens: activations quantized per token and 128, weights with a scale per 128 x 128."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=2048, outputs=7168):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, width).to(torch.float8_e4m3fn), requires_grad=False)
        self.scale = nn.Parameter(torch.rand(outputs // 128, width // 128), requires_grad=False)

    def forward(self, x):
        tokens, width = x.shape
        groups = x.float().view(tokens, -1, 128)
        scale = groups.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448
        x8 = (groups / scale).to(torch.float8_e4m3fn).view(tokens, width)
        across = scale.squeeze(-1).t().contiguous().t()  # as PyTorch's kernel wants them
        return torch._scaled_mm(x8, self.weight.t(), across, self.scale.t(), out_dtype=torch.bfloat16)


def get_inputs():
    return [torch.randn(4096, 2048, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
