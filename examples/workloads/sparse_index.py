"""An inverted index and queries as a synthetic generator gives them: terms by Zipf's law with exponent 1.5, 150 words a document.

A term's postings are documents in ascending order, evenly spread but for chance. The numbers come from a hash of their places, so that
the index is the same everywhere, and of any size without a loop.
"""
import torch

BLOCK = 32


def chance(places, salt):
    """Numbers from 0 to 1, by place: a multiplicative hash of 32 bits, twice."""
    bits = places + salt * 7919
    for _ in range(2):
        bits = (bits * 2654435761) & 0xFFFFFFFF
        bits = bits ^ (bits >> 15)
    return bits.double() / 2**32


def lengths_of_lists(documents, terms, words):
    """In how many documents each term stands."""
    share = torch.arange(1, terms + 1, dtype=torch.float64) ** -1.5
    share = share / share.sum()
    return (documents * (1 - (1 - share) ** words)).long().clamp(min=1)


def postings(documents, terms, words):
    """(ids of documents [blocks, 32], the first block of each term and the end of the last)."""
    lengths = lengths_of_lists(documents, terms, words)
    blocks = (lengths + BLOCK - 1) // BLOCK
    first = torch.cat([torch.zeros(1, dtype=torch.int64), blocks.cumsum(0)])
    total = int(first[-1])
    term = torch.repeat_interleave(torch.arange(terms), blocks)
    place = (torch.arange(total) - first[term])[:, None] * BLOCK + torch.arange(BLOCK)
    spread = (place + chance(torch.arange(total * BLOCK).view(total, BLOCK), 1)) * (documents / lengths[term].double())[:, None]
    ids = torch.where(place < lengths[term][:, None], spread.long().clamp(max=documents - 1), torch.tensor(documents))
    empty = torch.full((1, BLOCK), documents, dtype=torch.int64)  # the block that is none
    return torch.cat([ids, empty]).int(), first


def blocks_of_queries(documents, terms, words, queries, asked):
    """[queries, the most blocks that one has]. Terms of queries are rarer than those of documents: nobody asks for "the"."""
    lengths = lengths_of_lists(documents, terms, words)
    counts = (lengths + BLOCK - 1) // BLOCK
    first = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    which = chance(torch.arange(queries * asked).view(queries, asked), 2)
    term = (terms ** (0.35 + 0.65 * which)).long().clamp(max=terms - 1)
    rows = [torch.cat([torch.arange(int(first[t]), int(first[t + 1])) for t in row]) for row in term]
    most = max(len(row) for row in rows)
    return torch.stack([torch.cat([row, torch.full((most - len(row),), int(first[-1]))]) for row in rows])
