"""moe_block in small, for a processor."""
from moe_block import Model, inputs


def get_inputs():
    return inputs(tokens=64, width=64)


def get_init_inputs():
    return [64, 32, 8, 2]
