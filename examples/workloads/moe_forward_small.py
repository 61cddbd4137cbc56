"""moe_forward in small, for a processor."""
from moe_forward import Model, inputs


def get_inputs():
    return inputs(experts=8, width=64, rows=256)


def get_init_inputs():
    return [8, 64, 64]
