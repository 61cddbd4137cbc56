"""moe_weight_gradient_1 in small, for a processor."""
from moe_weight_gradient_1 import Model, inputs


def get_inputs():
    return inputs(experts=8, width=64, out=128, rows=96)


def get_init_inputs():
    return []
