"""fourier_layer in small, for a processor."""
from fourier_layer import Model, inputs


def get_inputs():
    return inputs(images=2, channels=8, size=32)


def get_init_inputs():
    return [8, 6]
