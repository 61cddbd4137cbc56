"""fp8_linear in small, for a processor."""
from fp8_linear import Model, inputs


def get_inputs():
    return inputs(tokens=64, width=256)


def get_init_inputs():
    return [256, 128]
