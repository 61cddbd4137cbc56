"""codebook in small, for a processor."""
from codebook import Model, inputs


def get_inputs():
    return inputs(300, 32)


def get_init_inputs():
    return [100, 32]
