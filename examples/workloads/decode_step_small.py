"""decode_step in small, for a processor."""
from decode_step import Model, inputs


def get_inputs():
    return inputs(batch=2, width=128, key_heads=2, dim=32, length=256)


def get_init_inputs():
    return [128, 4, 2, 256, 256]
