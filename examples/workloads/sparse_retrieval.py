"""Learned sparse retrieval over an inverted index: scores of all documents for a batch of queries, and the best thousand.

The index is blocks of 32 postings of one term (a document and the term's weight in it), the last of a term padded with a document that
is none. A query is the blocks of its terms, each with the term's weight in the query; a block that is none ends it.
"""
import torch
import torch.nn as nn

from sparse_index import blocks_of_queries, postings


class Model(nn.Module):
    def __init__(self, documents=100000, terms=30522, words=150, best=1000):
        super().__init__()
        ids = postings(documents, terms, words)
        self.documents, self.best = documents, best
        self.register_buffer("ids", ids)
        self.register_buffer("weights", torch.rand(ids.shape) * 2.9 + 0.1)

    def forward(self, blocks, weights):
        queries = blocks.shape[0]
        places = self.ids[blocks].long().view(queries, -1)
        products = (self.weights[blocks] * weights[:, :, None]).view(queries, -1)
        scores = torch.zeros(queries, self.documents + 1, device=weights.device).scatter_add(1, places, products)
        best, places = scores[:, : self.documents].topk(self.best, -1)
        return best, places


def inputs(documents=100000, terms=30522, words=150, queries=64, asked=45):
    blocks = blocks_of_queries(documents, terms, words, queries, asked)
    return [blocks, torch.rand(blocks.shape) * 2.9 + 0.1]


def get_inputs():
    return inputs()


def get_init_inputs():
    return []
