"""A linear layer of a few tokens whose weights of 4 bits lie as AWQ keeps them: eight outputs, in the order 0, 2, 4, 6,
1, 3, 5, 7, in a word of 32 bits, zeros likewise, a scale for each group of 128."""
import torch
import torch.nn as nn

ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def packed(numbers):
    rows = numbers.long().view(numbers.shape[0], -1, 8)[..., list(ORDER)]
    return (rows << torch.arange(0, 32, 4)).sum(2).to(torch.int32)


class Model(nn.Module):
    def __init__(self, width=4096, outputs=4096, group=128, scales=torch.float16):
        super().__init__()
        weight = (torch.randn(width, outputs) / width ** 0.5).view(-1, group, outputs)
        low, high = weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
        scale = (high - low) / 15
        zero = (-low / scale).round().clamp(0, 15)
        numbers = ((weight / scale).round() + zero).clamp(0, 15)
        self.words = nn.Parameter(packed(numbers.view(width, outputs)), requires_grad=False)
        self.zero_words = nn.Parameter(packed(zero.view(-1, outputs)), requires_grad=False)
        self.scales = nn.Parameter(scale.squeeze(1).to(scales), requires_grad=False)
        self.group = group

    def forward(self, x):
        # Of the eight outputs of a word, where each one's bits begin: 0, 16, 4, 20, 8, 24, 12, 28.
        shifts = torch.arange(0, 32, 4, device=x.device).view(2, 4).t().flatten()
        numbers = ((self.words.unsqueeze(2) >> shifts) & 15).flatten(1)
        zeros = ((self.zero_words.unsqueeze(2) >> shifts) & 15).flatten(1)
        zeros, scales = (of.repeat_interleave(self.group, 0) for of in (zeros, self.scales))
        return x @ ((numbers - zeros) * scales).to(x.dtype)


def inputs(tokens=16, width=4096):
    return [torch.randn(tokens, width, dtype=torch.float16)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
