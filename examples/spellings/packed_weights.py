"""A linear layer whose weights are of 4 bits, eight in a word along K, with scales and zeros for groups of 128, as AutoGPTQ has them."""
import torch


class Model(torch.nn.Module):
    def __init__(self, width=4096, outputs=4096, group=128):
        super().__init__()
        words = -(2**31), 2**31 - 1
        self.group = group
        self.register_buffer("weight", torch.randint(*words, (width // 8, outputs), dtype=torch.int32))
        self.register_buffer("zeros", torch.randint(*words, (width // group, outputs // 8), dtype=torch.int32))
        self.register_buffer("scales", torch.rand(width // group, outputs, dtype=torch.float16) * 0.01)
        self.register_buffer("shifts", torch.arange(0, 32, 4, dtype=torch.int32)[None], persistent=False)

    def forward(self, x):
        zeros = (torch.bitwise_right_shift(self.zeros[:, :, None].expand(-1, -1, 8), self.shifts[:, None]) & 15) + 1
        weight = torch.bitwise_right_shift(self.weight[:, None].expand(-1, 8, -1), self.shifts[:, :, None]) & 15
        outputs = self.scales.shape[1]
        weight = self.scales.reshape(-1, 1, outputs) * (weight.reshape(-1, self.group, outputs) - zeros.reshape(-1, 1, outputs))
        return x @ weight.reshape(-1, outputs)


def get_inputs():
    return [torch.randn(16, 4096, dtype=torch.float16)]


def get_init_inputs():
    return []
