"""packed_linear in small, for a processor."""
from packed_linear import Model, inputs


def get_inputs():
    return inputs(tokens=5, width=256)


def get_init_inputs():
    return [256, 128, 64]
