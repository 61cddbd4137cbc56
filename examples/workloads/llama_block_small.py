"""llama_block in small, for a processor."""
import torch

from llama_block import Model


def get_inputs():
    return [torch.randn(2, 64, 128, dtype=torch.bfloat16)]


def get_init_inputs():
    return [128, 4, 2, 256, 64]
