"""Retrieval: of each query the ten documents whose embeddings are nearest by their cosine, and how near they are."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, queries, documents):
        scores = F.normalize(queries, dim=-1) @ F.normalize(documents, dim=-1).T
        return torch.topk(scores, 10, dim=-1, sorted=True)


def get_inputs():
    return [torch.randn(1000, 128, dtype=torch.bfloat16), torch.randn(200000, 128, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
