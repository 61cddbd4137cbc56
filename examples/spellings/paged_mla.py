"""Latent attention of a new token over pages of 64 rows that a table names: 128 heads read one row a key, whose first
512 elements are its value as well, up to what each sequence has."""
import torch


class Model(torch.nn.Module):
    def forward(self, q_latent, q_turned, pages, table, lengths):
        rows = pages[table].flatten(1, 2)
        latent, turned = rows.split([512, 64], dim=-1)
        scores = torch.einsum("bhc,btc->bht", q_latent, latent) + torch.einsum("bhr,btr->bht", q_turned, turned)
        seen = torch.arange(rows.shape[1], device=rows.device) < lengths[:, None, None]
        scores = (scores * 192**-0.5).masked_fill(~seen, float("-inf"))
        weights = scores.softmax(-1, dtype=torch.float32).to(rows.dtype)
        return torch.einsum("bht,btc->bhc", weights, latent)


def get_inputs():
    type, sequences, most = torch.bfloat16, 32, 64
    pages = sequences * most
    return [
        torch.randn(sequences, 128, 512, dtype=type),
        torch.randn(sequences, 128, 64, dtype=type),
        torch.randn(pages, 64, 576, dtype=type),
        torch.randperm(pages).view(sequences, most).to(torch.int32),
        torch.randint(1, 64 * most + 1, (sequences,)),
    ]


def get_init_inputs():
    return []
