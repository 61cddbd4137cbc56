"""maxsim_wide in small, for a processor."""
from maxsim import Model, inputs


def get_inputs():
    return inputs(documents=50, length=32, width=256)


def get_init_inputs():
    return []
