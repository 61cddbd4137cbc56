"""moe_gate_up in small, for a processor."""
from moe_forward import Model, inputs


def get_inputs():
    return inputs(experts=8, width=64, rows=96)


def get_init_inputs():
    return [8, 64, 128]
