"""A linear layer of a few tokens whose weights of 4 bits lie as GPTQ keeps them: eight neighbours along what is summed
in a word of 32 bits, zeros packed along the outputs, a scale of f16 for each group of 128."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=4096, outputs=4096, group=128, scales=torch.float16):
        super().__init__()
        weight = (torch.randn(width, outputs) / width ** 0.5).view(-1, group, outputs)
        low, high = weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
        scale = (high - low) / 15
        zero = (-low / scale).round().clamp(0, 15)
        numbers = ((weight / scale).round() + zero).clamp(0, 15).view(width // 8, 8, outputs)
        zeros = zero.view(-1, outputs // 8, 8)
        shifts = torch.arange(0, 32, 4)
        words = (numbers.long() << shifts.view(1, 8, 1)).sum(1)
        zero_words = (zeros.long() << shifts).sum(2)
        self.words = nn.Parameter(words.to(torch.int32), requires_grad=False)
        self.zero_words = nn.Parameter(zero_words.to(torch.int32), requires_grad=False)
        self.scales = nn.Parameter(scale.squeeze(1).to(scales), requires_grad=False)

    def forward(self, x):
        groups, outputs = self.scales.shape
        shifts = torch.arange(0, 32, 4, device=x.device)
        numbers = (self.words.unsqueeze(1) >> shifts.view(1, 8, 1)) & 15
        zeros = (self.zero_words.unsqueeze(2) >> shifts) & 15
        weight = (numbers.view(groups, -1, outputs) - zeros.view(groups, 1, outputs)) * self.scales.unsqueeze(1)
        return x @ weight.view(-1, outputs).to(x.dtype)


def inputs(tokens=16, width=4096):
    return [torch.randn(tokens, width, dtype=torch.float16)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
