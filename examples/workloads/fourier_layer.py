"""A layer of a Fourier neural operator: of an image's spectrum the lowest places alone are mixed over channels, by numbers
of their own, and what comes back from there is added to a pointwise convolution."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels=64, kept=16):
        super().__init__()
        self.kept = kept
        shape = (channels, channels, kept, kept)
        self.above, self.below = (nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / channels) for _ in range(2))
        self.pointwise = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        kept, spectrum = self.kept, torch.fft.rfft2(x)
        mixed = torch.zeros_like(spectrum)
        mixed[..., :kept, :kept] = torch.einsum("bixy,ioxy->boxy", spectrum[..., :kept, :kept], self.above)
        mixed[..., -kept:, :kept] = torch.einsum("bixy,ioxy->boxy", spectrum[..., -kept:, :kept], self.below)
        return nn.functional.gelu(torch.fft.irfft2(mixed, s=x.shape[-2:]) + self.pointwise(x))


def inputs(images=16, channels=64, size=128):
    return [torch.randn(images, channels, size, size)]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
