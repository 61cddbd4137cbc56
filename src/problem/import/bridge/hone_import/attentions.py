"""Attention as torch.nn.attention has it, which a trace cannot follow: flex_attention, and masks that are kinds of tensors of their
own. They are written with operators before the file is run, since it may take them by name.

Part of hone_import.py, whose names it uses.
"""


class Blocks:
    """What is needed of a BlockMask: which blocks are left out is what its function says of their elements."""

    def __init__(self, mask_mod):
        self.mask_mod = mask_mod

    def to(self, *device):
        return self


def create_blocks(mask_mod, *sizes, **named):
    """torch.nn.attention.flex_attention.create_block_mask."""
    return Blocks(mask_mod)


def flexible(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None,
             *, return_aux=None):
    """torch.nn.attention.flex_attention.flex_attention, as PyTorch computes it without a compiler."""
    if return_lse or return_aux is not None:
        raise Complaint("flex_attention with return_lse or return_aux is not imported: compute torch.logsumexp of the scores beside it",
                        line_now())
    heads, rows, columns = query.shape[1], query.shape[2], key.shape[2]
    sizes = (query.shape[0], heads, rows, columns)
    places = [torch.arange(n, device=query.device).view([n if d == e else 1 for e in range(4)]) for d, n in enumerate(sizes)]
    mask = None if block_mask is None else block_mask.mask_mod(*places)
    if score_mod is None:
        named = {"enable_gqa": True} if enable_gqa and key.shape[1] != heads else {}
        return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale, **named)
    if enable_gqa:
        key, value = (t.repeat_interleave(heads // t.shape[1], 1) for t in (key, value))
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    scores = score_mod(scores if scores.dtype == torch.float64 else scores.float(), *places)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    return torch._safe_softmax(scores, -1).to(query.dtype) @ value


class Causal:
    """torch.nn.attention.bias.CausalBias: an argument of attention, and no tensor before."""

    def __init__(self, rows, columns, from_the_end):
        self.rows, self.columns, self.from_the_end = rows, columns, from_the_end

    @classmethod
    def __torch_function__(cls, function, types, args=(), named=None):
        if getattr(function, "__name__", "") != ATTENTION:
            raise Complaint("causal_lower_right and causal_upper_left are imported as attn_mask of scaled_dot_product_attention alone: "
                            "for more than that, write the mask as torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)",
                            line_now())
        return causal(nn.functional.scaled_dot_product_attention)(*args, **(named or {}))


def causal(attention):
    """attention, which may be given a Causal."""
    def written(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **named):
        if isinstance(attn_mask, Causal):
            shift = attn_mask.columns - attn_mask.rows if attn_mask.from_the_end else 0
            if shift == 0:
                attn_mask, is_causal = None, True
            else:
                attn_mask = torch.ones(attn_mask.rows, attn_mask.columns, dtype=torch.bool, device=query.device).tril(shift)
        return attention(query, key, value, attn_mask, dropout_p, is_causal, **named)
    return written


def write_attentions(source):
    """Before the user's file is run."""
    source = source if isinstance(source, bytes) else source.encode()  # a definition has it as text
    if NEW and b"flex_attention" in source:
        from torch.nn.attention import flex_attention as flex

        flex.flex_attention, flex.create_block_mask = flexible, create_blocks
    if NEW and b"attention.bias" in source:
        from torch.nn.attention import bias

        bias.causal_lower_right = lambda rows, columns: Causal(rows, columns, True)
        bias.causal_upper_left = lambda rows, columns: Causal(rows, columns, False)
