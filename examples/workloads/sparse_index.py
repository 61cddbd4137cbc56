"""An inverted index and queries as a synthetic generator gives them: terms by Zipf's law with exponent 1.5, 150 words a document.

A term's postings are documents in ascending order, evenly spread but for chance. The numbers come from a hash of their places, so that
the index is the same everywhere, and of any size. Its sizes are Python's numbers, so that tensors without data can stand for it, and its
blocks are made a part at a time, so that those of a million documents take hardly more memory than they are.
"""
import itertools

import torch

BLOCK = 32
SOME = 1 << 17  # blocks that are made at a time


def chance(places, salt):
    """Numbers from 0 to 1, by place: a multiplicative hash of 32 bits, twice. Of a tensor's places, or of one that is an int."""
    bits = places + salt * 7919
    for _ in range(2):
        bits = (bits * 2654435761) & 0xFFFFFFFF
        bits = bits ^ (bits >> 15)
    return (bits.double() if isinstance(bits, torch.Tensor) else bits) / 2**32


def lengths_of_lists(documents, terms, words):
    """In how many documents each term stands."""
    shares = [rank**-1.5 for rank in range(1, terms + 1)]
    whole = sum(shares)
    return [max(int(documents * (1 - (1 - share / whole) ** words)), 1) for share in shares]


def first_blocks(lengths):
    """The first block of each term and the end of the last."""
    return [0, *itertools.accumulate((length + BLOCK - 1) // BLOCK for length in lengths)]


def postings(documents, terms, words):
    """The ids of documents [blocks, 32], the last block being the one that is none."""
    lengths = lengths_of_lists(documents, terms, words)
    first = first_blocks(lengths)
    begins, ends, counts = torch.tensor(first[:-1]), torch.tensor(first[1:]), torch.tensor(lengths)
    total, within = first[-1], torch.arange(BLOCK)
    ids = torch.full((total + 1, BLOCK), documents, dtype=torch.int32)
    for begin in range(0, total, SOME):
        block = torch.arange(begin, min(begin + SOME, total))
        term = torch.searchsorted(ends, block, right=True)
        count = counts[term][:, None]
        place = (block - begins[term])[:, None] * BLOCK + within
        spread = (place + chance(block[:, None] * BLOCK + within, 1)) * (documents / count.double())
        ids[begin : begin + len(block)] = torch.where(place < count, spread.long().clamp(max=documents - 1), documents).int()
    return ids


def blocks_of_queries(documents, terms, words, queries, asked):
    """[queries, the most blocks that one has]. Terms of queries are rarer than those of documents: nobody asks for "the"."""
    first = first_blocks(lengths_of_lists(documents, terms, words))
    rows = []
    for query in range(queries):
        which = [min(int(terms ** (0.35 + 0.65 * chance(query * asked + i, 2))), terms - 1) for i in range(asked)]
        rows.append(torch.cat([torch.arange(first[term], first[term + 1]) for term in which]))
    most = max(len(row) for row in rows)
    return torch.stack([torch.cat([row, torch.full((most - len(row),), first[-1])]) for row in rows])
