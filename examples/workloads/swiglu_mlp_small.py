"""swiglu_mlp in small, for a processor."""
import torch

from swiglu_mlp import Model


def get_inputs():
    return [torch.randn(64, 128, dtype=torch.bfloat16)]


def get_init_inputs():
    return [128, 256]
