"""Latent attention of a new token over pages, in which latent rows and turned keys are two caches of one table."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q_latent, q_turned, latent_pages, turned_pages, table, lengths):
        latent = latent_pages[table].flatten(1, 2)[:, None]
        turned = turned_pages[table].flatten(1, 2)[:, None]
        q, k = torch.cat([q_latent, q_turned], dim=-1), torch.cat([latent, turned], dim=-1)
        seen = torch.arange(k.shape[2], device=q.device) < lengths[:, None, None, None]
        return F.scaled_dot_product_attention(q, k, latent, attn_mask=seen, scale=192**-0.5, enable_gqa=True)


def get_inputs():
    type, sequences, most = torch.bfloat16, 32, 128
    pages = sequences * most
    return [
        torch.randn(sequences, 16, 1, 512, dtype=type),
        torch.randn(sequences, 16, 1, 64, dtype=type),
        torch.randn(pages, 32, 512, dtype=type),
        torch.randn(pages, 32, 64, dtype=type),
        torch.randperm(pages).view(sequences, most).to(torch.int32),
        torch.randint(1, 32 * most + 1, (sequences,)),
    ]


def get_init_inputs():
    return []
