"""int8_prefill in small, for a processor."""
from int8_prefill import Model, inputs


def get_inputs():
    return inputs(tokens=64, width=256)


def get_init_inputs():
    return [256, 128]
