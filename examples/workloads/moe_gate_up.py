"""The first product of a mixture of experts, gate and up at once: 65536 ragged rows, 2880 to 5760."""
from moe_forward import Model as Product
from moe_forward import inputs


class Model(Product):
    def __init__(self, experts=128, width=2880, out=5760):
        super().__init__(experts, width, out)


def get_inputs():
    return inputs(rows=65536)


def get_init_inputs():
    return []
