"""Attention within windows of 7 x 7 places of an image, as Swin has it: a bias that depends on how far apart two places
are, and a mask for each of the 64 windows of an image, which windows have that were cut in two. No score is in memory,
nor are scaled queries, and heads are laid side by side where they are made."""
import torch

SIDE, HEADS, WIDTH = 7, 12, 384


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, dtype=torch.bfloat16)
        self.end = torch.nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16)
        self.bias = torch.nn.Parameter(torch.randn((2 * SIDE - 1) ** 2, HEADS, dtype=torch.bfloat16))
        row, column = torch.arange(SIDE * SIDE) // SIDE, torch.arange(SIDE * SIDE) % SIDE
        down, right = row[:, None] - row, column[:, None] - column
        self.register_buffer("apart", (down + SIDE - 1) * (2 * SIDE - 1) + right + SIDE - 1)

    def forward(self, windows, mask):
        count, places, width = windows.shape
        parts = self.qkv(windows).reshape(count, places, 3, HEADS, width // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q * (width // HEADS) ** -0.5 @ k.mT
        scores = scores + self.bias[self.apart.flatten()].view(places, places, HEADS).permute(2, 0, 1)
        scores = scores.view(-1, len(mask), HEADS, places, places) + mask[:, None]
        seen = scores.view(count, HEADS, places, places).softmax(-1) @ v
        return self.end(seen.transpose(1, 2).reshape(count, places, width))


def get_inputs():
    type = torch.bfloat16
    cut = torch.zeros(64, SIDE * SIDE, dtype=type)
    cut[56:, SIDE * 4 :] = 1
    cut[7::8, 4::SIDE] += 2
    return [torch.randn(2048, SIDE * SIDE, WIDTH, dtype=type), (cut[:, None] != cut[:, :, None]).to(type) * -100]


def get_init_inputs():
    return []
