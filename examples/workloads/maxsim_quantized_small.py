"""maxsim_quantized in small, for a processor."""
from maxsim_quantized import Model, inputs


def get_inputs():
    return inputs(documents=100, length=32, parts=8, centres=32)


def get_init_inputs():
    return [8, 32, 8]
