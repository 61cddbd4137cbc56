# A step of a U-Net: down, up again, and together with what was before.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.down = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.join = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def forward(self, x):
        low = torch.relu(self.down(F.max_pool2d(x, 2)))
        return torch.relu(self.join(torch.cat([x, self.up(low)], dim=1)))


def get_inputs():
    return [torch.randn(1, 16, 32, 32)]


def get_init_inputs():
    return [16]
