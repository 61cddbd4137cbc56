"""sparse_retrieval in small, for a processor."""
from sparse_retrieval import Model, inputs


def get_inputs():
    return inputs(documents=2000, terms=500, words=40, queries=4, asked=6)


def get_init_inputs():
    return [2000, 500, 40, 100]
