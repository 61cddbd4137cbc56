"""The gradient of the second product's weights, square: a sum over 57768 ragged rows, [2880, 2880] an expert."""
from moe_weight_gradient_1 import Model, inputs


def get_inputs():
    return inputs(out=2880)


def get_init_inputs():
    return []
