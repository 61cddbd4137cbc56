"""awq_linear in small, for a processor."""
from awq_linear import Model, inputs


def get_inputs():
    return inputs(tokens=5, width=256)


def get_init_inputs():
    return [256, 128, 64]
