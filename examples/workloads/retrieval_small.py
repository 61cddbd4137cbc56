"""retrieval in small, for a processor."""
from retrieval import Model, inputs


def get_inputs():
    return inputs(100, 64)


def get_init_inputs():
    return [20000, 64, 5]
