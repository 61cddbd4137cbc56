"""maxsim_masked in small, for a processor."""
from maxsim_masked import Model, inputs


def get_inputs():
    return inputs(documents=200, length=32, width=64)


def get_init_inputs():
    return []
