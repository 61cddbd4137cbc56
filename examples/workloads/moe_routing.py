"""How many rows each expert gets: counts ~ multinomial(rows, p), p ~ Dirichlet(0.24), which is as uneven as measured routing is.

Some experts get nothing. Python's own random numbers, so that a problem keeps these very counts in every draw.
"""
import random

import torch


def counts_of_groups(rows, experts, concentration=0.24, seed=0):
    chance = random.Random(seed)
    shares = [chance.gammavariate(concentration, 1) for _ in range(experts)]
    counts = [0] * experts
    for expert in chance.choices(range(experts), weights=shares, k=rows):
        counts[expert] += 1
    return counts


def ends_of_groups(rows, experts):
    """Of rows that are sorted by expert, the place behind each expert's last."""
    ends, end = [], 0
    for count in counts_of_groups(rows, experts):
        end += count
        ends.append(end)
    return torch.tensor(ends, dtype=torch.int32)
