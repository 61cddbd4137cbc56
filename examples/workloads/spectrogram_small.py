"""spectrogram in small, for a processor."""
from spectrogram import Model, inputs


def get_inputs():
    return inputs(clips=2, samples=4000)


def get_init_inputs():
    return [100, 40, 20]
