#!/usr/bin/env python3
"""What the bridge takes apart computes what PyTorch computes. composites_test.py HONE

Each model is imported with its weights; what hone says of its outputs, for inputs that hone draws, is held against the model
itself, within the budget that hone allows a candidate. Exit status 77: skipped, no torch 2.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

if os.environ.get("HONE_PYTHON") and os.environ.get("HONE_COMPOSITES_CHILD") is None:  # whoever names one means that one
    python = os.environ["HONE_PYTHON"]
    os.execve(python, [python, *sys.argv], {**os.environ, "HONE_COMPOSITES_CHILD": "1"})
try:
    import torch
except ImportError:
    print("skipped: %s has no torch; name a Python that has it with HONE_PYTHON" % sys.executable)
    sys.exit(77)

from tensor_files import read_safetensors

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        %s
    def forward(self, %s):
        %s
def get_inputs():
    return [%s]
"""

# Name: what is made first, forward's arguments, what it does, its inputs.
MODELS = {
    "counts": ("pass", "i, w", "return torch.bincount(i, minlength=8), i.bincount(weights=w, minlength=9), torch.bincount(i, w.double(), 8)",
               "torch.randint(0, 8, (100,)), torch.rand(100)"),
    "counted_groups": ("pass", "i, x", "c = torch.bincount(i, minlength=8).cumsum(0); return (x[:, None] < c).sum(1), torch.where(x > 3, 1, 0).cumsum(0)",
                       "torch.randint(0, 8, (100,)), torch.randint(0, 99, (20,))"),
    "bags_of_one_size": (
        "self.sum, self.mean, self.max = (nn.EmbeddingBag(50, 24, mode=m).to(t) for m, t in (('sum', torch.bfloat16), ('mean', torch.half), ('max', torch.float)))",
        "i, w", "return self.sum(i), self.mean(i), self.max(i), self.sum(i, per_sample_weights=w)",
        "torch.randint(0, 50, (6, 5)), torch.rand(6, 5).bfloat16()"),
    "padded_bags": (
        "self.sum, self.mean, self.max = (nn.EmbeddingBag(3, 24, mode=m, padding_idx=-2) for m in ('sum', 'mean', 'max')); self.t = nn.Parameter(torch.randn(3, 24))",
        "i, o", "return [f(*a) for f in (self.sum, self.mean, self.max) for a in ((i,), (i.flatten(), o))] + "
        "[F.embedding_bag(i, self.t, mode=m, padding_idx=0) for m in ('sum', 'mean', 'max')]",
        "torch.randint(0, 3, (9, 4)), torch.tensor([0, 3, 3, 7, 20])"),
    "bags_by_offsets": (
        "self.e = nn.ModuleList(nn.EmbeddingBag(50, 24, mode=m, include_last_offset=l) for m in ('sum', 'mean', 'max') for l in (False, True)); "
        "self.register_buffer('places', torch.tensor([0, 1, 5, 30]))",
        "i, o, w", "return [e(i, p) for e in self.e for p in (o, self.places)] + [self.e[0](i, o, w)]",
        "torch.randint(0, 50, (30,)), torch.tensor([0, 4, 4, 17, 30], dtype=torch.int64), torch.rand(30)"),
    "margins_of_labels": (
        "self.register_buffer('t', torch.tensor([[3, 1, -1, 1], [0, -1, 2, 3], [2, 1, 0, 3], [-1, 0, 0, 0]]))", "x",
        "return [F.multilabel_margin_loss(x, self.t, reduction=r) for r in ('none', 'mean', 'sum')] + [F.multilabel_margin_loss(x[0], self.t[0])]",
        "torch.randn(4, 4)"),
    "gaussian_losses": (
        "pass", "x, t, v, w", "return [F.gaussian_nll_loss(x, t, a, full=f, reduction=r) for a in (v, w, 0.5) for f in (False, True) for r in ('none', 'mean', 'sum')]",
        "torch.randn(6, 5), torch.randn(6, 5), torch.rand(6, 5) + 0.1, torch.rand(6) + 0.1"),
    "covariances": (
        "pass", "x, f, a", "return [torch.cov(x, **w) for w in ({}, {'correction': 0}, {'fweights': f}, {'aweights': a}, {'fweights': f, 'aweights': a})] + "
        "[torch.corrcoef(x), x[0].cov(), x[0].corrcoef(), x[:1].corrcoef()]",
        "torch.randn(4, 9), torch.randint(1, 4, (9,)), torch.rand(9)"),
    "eight_bits": ("self.register_buffer('w', torch.randint(-128, 127, (32, 64), dtype=torch.int8)); self.s = nn.Parameter(torch.rand(32).bfloat16())",
                   "a, x", "return torch._int_mm(a, self.w.t()), torch._weight_int8pack_mm(x, self.w, self.s)",
                   "torch.randint(-128, 127, (20, 64), dtype=torch.int8), torch.randn(8, 64).bfloat16()"),
    "assigned": ("pass", "x, v", "a, b = x.clone(), x.clone(); a[x < 0] = 0; b[x[:, 0] > 0] = v; m = torch.zeros(9, 9, dtype=torch.bool); m[1:] = True; "
                 "i, j = torch.tril_indices(9, 9, -1), torch.triu_indices(9, 9, offset=2); return a, b, x.masked_fill(m, 0), x[i[0], i[1]], x[j[0], j[1]]",
                 "torch.randn(9, 9), torch.randn(9)"),
    "one_place": (
        "self.register_buffer('a', torch.rand(50))", "x, c, v, t, p",
        """d, e = c.clone(), c.clone()
        d[:, :, p], d[0, t - 9, 1:] = v, 0.5
        e[1, p] += v[0, 0]
        e[p - 3, :, t - 9] = v[1]
        return self.a[t], self.a[t - 60], x[:, p], x[..., p, None], x[torch.arange(3), p], c[p - 2, 1:, t - 10], c[None, ..., p, 2], d, e""",
        "torch.randn(3, 6), torch.randn(2, 4, 5), torch.randn(2, 4), torch.tensor(10), torch.tensor(2, dtype=torch.int32)"),
    "complex": (
        "self.register_buffer('f', torch.polar(torch.rand(7, 4) + 1, torch.randn(7, 4))); self.c = torch.full((1, 4), 0.5 - 2j)", "x, a, b",
        """z, w, c = torch.view_as_complex(x.reshape(3, 7, -1, 2)), torch.polar(a, b), torch.complex(a, b)
        z = z * self.f.view(1, 7, 4)
        made = [torch.view_as_real(z).flatten(2), z.real, z.imag, z.abs(), w.conj() * c, c * b, b - c, c + a[0], 2 - w, c * (1 - 2j), c / 3, -w, c - w,
                torch.cat([c, w])[1:5].t(), (c * self.c)[None].expand(2, -1, -1), c.unbind(1)[2], torch.where(a > 0, c, w), (1 - c)[b.argsort(0)[:, 0]]]
        return [torch.view_as_real(y.resolve_conj()) if y.is_complex() else y for y in made]""",
        "torch.randn(3, 7, 8), torch.randn(5, 4), torch.randn(5, 4)"),
    "of_complex": (
        "self.w = nn.Parameter(torch.randn(6, 5, dtype=torch.cfloat))", "a, b",
        """c = torch.complex(a, b)
        z, s = torch.zeros(4, 8, dtype=torch.cfloat), torch.zeros_like(c)
        z[:, 1:7] = c
        s[1:3, 2:] = c[1:3, 2:] * 2
        made = [c @ self.w, a.to(torch.cfloat) @ self.w, torch.einsum("ij,bj->bi", self.w.t(), c), c.sum(0), c.mean(1), z, s, F.pad(c, (1, 2)),
                torch.full((3, 2), 1 - 2j) + c[:3, :2], c / (c.flip(0) + 3j), 2 / (c + 3), c / (1 + 2j), torch.complex(torch.zeros_like(c, dtype=torch.float32) + a, b), (c * 0.5).exp(), (c + 4).reciprocal(), c ** 2,
                c.square(), a / (c + 3j), (torch.arange(6.0) * (-0.1 + 1j)).exp() * c]
        return [torch.view_as_real(y.resolve_conj()) for y in made] + [torch.complex(a.abs() + 0.1, b).angle()]""",
        "torch.randn(4, 6), torch.randn(4, 6)"),
    "fourier": (
        "self.register_buffer('window', torch.hann_window(16))", "x, o, l, h",
        """f, z = torch.fft, torch.complex(x, x.flip(0))
        made = [f.rfft(x), f.fft(x), f.fft(z, norm="ortho"), f.ifft(z), f.fft2(x), f.fftn(x[0]), f.fft(x, dim=0, norm="forward"), f.fft(x, n=20),
                f.rfft2(x, norm="ortho"), f.rfftn(x, dim=(2, 0)), f.ifft2(z), f.ihfft(x), f.rfft(o), f.fft(o), f.rfft(l), f.ifft(torch.complex(l, l))]
        back = [f.irfft(made[0]), f.irfft(made[0], n=15), f.irfft2(made[8], s=(6, 16), norm="ortho"), f.irfft(f.rfft(o), n=67), f.irfft(f.rfft(l)),
                f.irfft(f.rfft(l, n=2048) * 0.5, n=2048)[..., :1024], f.hfft(z), f.fftshift(f.fft2(x)).abs()]
        s = torch.stft(h, 16, 4, window=self.window, return_complex=True)
        return [torch.view_as_real(y.resolve_conj()) for y in made + [s]] + back + [torch.istft(s * 2, 16, 4, window=self.window)]""",
        "torch.randn(4, 6, 16), torch.randn(3, 67), torch.randn(2, 1024), torch.randn(2, 64)"),
    "flexible": (
        "pass", "q, k, v, l",
        """from torch.nn.attention.flex_attention import create_block_mask, flex_attention as f
        near = create_block_mask(lambda b, h, i, j: (i >= j) & (j < l[b]), 2, None, 16, 16, device="cpu")
        return [f(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf"))), f(q, k, v, block_mask=near, scale=0.5),
                f(q, k[:, :2], v[:, :2], lambda s, b, h, i, j: s * 2 + (j - i) * (h + 1), near, enable_gqa=True),
                f(q, k[:, :2], v[:, :2], enable_gqa=True)]""",
        "torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), torch.randint(1, 16, (2,))"),
    "causal": (
        "from torch.nn.attention.bias import causal_upper_left; self.square = causal_upper_left(5, 5)", "q, k, v",
        "from torch.nn.attention.bias import causal_lower_right as late; "
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=late(5, 9)), F.scaled_dot_product_attention(q, q, q, self.square)",
        "torch.randn(2, 4, 5, 8), torch.randn(2, 4, 9, 8), torch.randn(2, 4, 9, 8)"),
    "in_order": ("pass", "x", "return [*x.kthvalue(3, -1), *x.median(1, keepdim=True), x.median()]", "torch.randn(6, 41)"),
}


def fails(name, folder, hone):
    """What is wrong with a model's import, or None."""
    init, arguments, forward, inputs = MODELS[name]
    path = folder / (name + ".py")
    path.write_text(HEAD % (init, arguments, forward, inputs))
    problem, out = folder / (name + ".json"), folder / (name + ".safetensors")
    for command in (["import", path, "--weights", "--contract", "fp32", "-o", problem], ["reference", problem, "-o", out, "--seed", "3"]):
        done = subprocess.run([hone, *map(str, command)], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip()
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where the compiler of flex_attention looks for it
    spec.loader.exec_module(module)
    torch.manual_seed(42)
    model = module.Model()
    said = read_safetensors(out)
    with torch.no_grad():  # clones lie where PyTorch's kernels want them, which some of them do not check
        made = model(*[said[row["name"]].clone() for row in json.loads(problem.read_text())["tensors"] if row["role"] == "input"])
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    for i, own in enumerate(made):
        output = "output" if len(made) == 1 else "output_%d" % i
        want = said[output]
        if own.shape != want.shape:
            return "%s is %s, PyTorch's %s" % (output, list(want.shape), list(own.shape))
        budget = said[output + ".budget"] if own.is_floating_point() else torch.zeros(())
        if bool(((own.double() - want.double()).abs() > budget).any()):
            return "%s is %s, PyTorch's %s" % (output, want.flatten()[:8].tolist(), own.flatten()[:8].tolist())
    return None


TURNED = HEAD % ("self.register_buffer('f', torch.polar(torch.ones(12, 4), torch.arange(48.0).view(12, 4)))", "x",
                 "return torch.view_as_real(torch.view_as_complex(x.reshape(2, 12, 4, 2)) * self.f).flatten(2)", "torch.randn(2, 12, 8)")
# What a model with a complex parameter computes as an exported module, which takes that from the model.
TURNS = """import sys, torch
sys.path.insert(0, sys.argv[1])
from hone_kernel import ModelNew, model
new, old, x = ModelNew(), model.Model(), torch.randn(2, 12, 8)
for _ in range(2):
    assert torch.allclose(new(x), old(x), atol=1e-5)
    new.f.mul_(2j)
    old.f.mul_(2j)
"""
CACHED = HEAD % ("pass", "x, c, p", "c.index_copy_(0, p, x); return c * 2", "torch.randn(4, 8), torch.randn(64, 8), torch.randperm(64)[:4]")
# An exported module writes into its inputs as the model does, and says so.
WRITES = """import pathlib, sys, subprocess, torch
sys.path.insert(0, sys.argv[1])
from hone_kernel import ModelNew, model
inputs = model.get_inputs()
old, new = ([one.clone() for one in inputs] for _ in range(2))
assert torch.allclose(ModelNew()(*new), model.Model()(*old)) and torch.equal(new[1], old[1]) and new[1]._version == 1
assert "It writes into `c` in place" in pathlib.Path(sys.argv[1], "README.md").read_text()
checked = subprocess.run([sys.executable, sys.argv[1] + "/verify.py", "--seconds", "0.1"], capture_output=True, text=True)
assert checked.returncode == 0, checked.stdout
"""


def fails_exported(name, source, check, folder, hone):
    path = folder / (name + ".py")
    path.write_text(source)
    problem, store, out = folder / (name + ".json"), ["--store", folder / "runs.sqlite"], folder / name
    run = None
    for command in (["import", path, "-o", problem], ["optimize", problem, "--budget", 1, "--time", 0, "--no-torch", "--json", *store],
                    ["export", None, "-o", out, *store]):
        done = subprocess.run([hone, *(run if word is None else str(word) for word in command)], capture_output=True, text=True)
        if done.returncode != 0 and command[0] != "optimize":  # which need not find anything faster
            return done.stderr.strip()
        run = json.loads(done.stdout)["run"] if command[0] == "optimize" else run
    done = subprocess.run([sys.executable, "-c", check, str(out)], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode != 0 else None


def main():
    if int(torch.__version__.split(".")[0]) < 2:
        print("skipped: torch %s has no modes of functions" % torch.__version__)
        sys.exit(77)
    hone = os.path.abspath(sys.argv[1])
    failed, exported = 0, (("turned", TURNED, TURNS), ("cached", CACHED, WRITES))
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            why = fails(name, pathlib.Path(folder), hone)
            if why:
                failed += 1
                print("tests/composites_test.py:1: %s: %s" % (name, why))
        for name, source, check in exported:
            if why := fails_exported(name, source, check, pathlib.Path(folder), hone):
                failed += 1
                print("tests/composites_test.py:1: exported: %s: %s" % (name, why))
    print("%d models: %s" % (len(MODELS) + len(exported), "%d wrong" % failed if failed else "all well"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
