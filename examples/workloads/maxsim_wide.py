"""MaxSim with embeddings of 768 numbers, as a language model gives them without a projection."""
from maxsim import Model, inputs


def get_inputs():
    return inputs(documents=20000, width=768)


def get_init_inputs():
    return []
