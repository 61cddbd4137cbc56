"""Fourier transforms, as products with tables of sines and cosines: a short one is one product, a long one of n = a b places
a of length b and b of length a with turns in between, and so on.

Part of hone_import.py, whose names it uses. A spectrum is (real, imaginary), and the latter None where there is none.
"""

SHORT = 512  # places of which a device makes one product sooner than two and the turns between; more where they are prime


def turns(rows, columns, places, like):
    """Cosine and sine of 2 pi row column / places: [rows, columns]. Whole turns are left out in whole numbers, and at quarters both
    are exact, so that no imaginary part is where there is none."""
    row, column = (torch.arange(count, device=like.device) for count in (rows, columns))
    place = row[:, None] * column % places
    angle = place.to(like.dtype) * (2 * math.pi / places)
    return tuple(torch.where(4 * place % places == 0, part.round(), part) for part in (angle.cos(), angle.sin()))


def turned(spectrum, cosine, sine):
    """Each number by its angle: times cosine + i sine."""
    real, imaginary = spectrum
    if imaginary is None:
        return real * cosine, real * sine
    return real * cosine - imaginary * sine, real * sine + imaginary * cosine


def short(spectrum, count, sign):
    """The first `count` of the last dimension's transform. Real and imaginary parts of a place lie side by side, so that the first
    few places are the first few rows and columns of the product."""
    real, imaginary = spectrum
    cosine, sine = turns(real.shape[-1], count, real.shape[-1], real)
    sine = sine * sign
    table = torch.stack([cosine, sine], 2).flatten(1)
    if imaginary is None:
        made = real @ table
    else:
        made = torch.stack([real, imaginary], -1).flatten(-2) @ torch.stack([table, torch.stack([-sine, cosine], 2).flatten(1)], 1).flatten(0, 1)
    made = made.unflatten(-1, (count, 2))
    return made[..., 0], made[..., 1]


def each(function, spectrum):
    return tuple(None if part is None else function(part) for part in spectrum)


def last(spectrum, count, sign):
    """The first `count` of sum over j of x[j] exp(sign 2 pi i j k / n), along the last dimension."""
    places = spectrum[0].shape[-1]
    across = next((d for d in range(math.isqrt(places), 1, -1) if places % d == 0), 1)
    if places <= SHORT or across == 1:
        return short(spectrum, count, sign)
    # j = j_1 across + j_2, k = k_1 + k_2 down: along j_1, then turns of j_2 k_1, then along j_2.
    down = places // across
    lines = each(lambda part: part.unflatten(-1, (down, across)).transpose(-1, -2), spectrum)
    cosine, sine = turns(across, down, places, spectrum[0])
    lines = turned(last(lines, down, sign), cosine, sine * sign)
    made = last(each(lambda part: part.transpose(-1, -2), lines), across, sign)
    return each(lambda part: part.transpose(-1, -2).flatten(-2)[..., :count], made)


def along(spectrum, dim, count, sign):
    return each(lambda part: part.movedim(-1, dim), last(each(lambda part: part.movedim(dim, -1), spectrum), count, sign))


def scale(shape, dims, normalization):
    """What PyTorch's number of a normalization says: none, by the root of all places, or by all."""
    places = math.prod(shape[d] for d in dims)
    return {0: 1.0, 1: places ** -0.5, 2: 1.0 / places}[normalization]


def scaled(spectrum, factor):
    return spectrum if factor == 1.0 else each(lambda part: part * factor, spectrum)


def parts(z):
    pairs = torch.view_as_real(z)
    return pairs[..., 0], pairs[..., 1]


def of_reals(self, dim, normalization, onesided):
    """_fft_r2c: onesided, half of the last of `dim` and what is between is left out."""
    places = self.shape[dim[-1]]
    made = along((self, None), dim[-1], places // 2 + 1 if onesided else places, -1)
    for d in reversed(dim[:-1]):
        made = along(made, d, self.shape[d], -1)
    return torch.complex(*scaled(made, scale(self.shape, dim, normalization)))


def of_complexes(self, dim, normalization, forward):
    """_fft_c2c."""
    made = parts(self)
    for d in dim:
        made = along(made, d, self.shape[d], -1 if forward else 1)
    return torch.complex(*scaled(made, scale(self.shape, dim, normalization)))


def to_reals(self, dim, normalization, last_dim_size):
    """_fft_c2r, whose spectrum is half of one that is real where it comes from: what lies opposite is its conjugate."""
    made = parts(self)
    for d in dim[:-1]:
        made = along(made, d, self.shape[d], 1)
    half = last_dim_size // 2 + 1
    real, imaginary = each(lambda part: part.movedim(dim[-1], -1)[..., :half], made)
    opposite = torch.arange(half, device=self.device)
    inner = (opposite > 0) & (2 * opposite < last_dim_size)
    if last_dim_size <= SHORT:
        cosine, sine = turns(half, last_dim_size, last_dim_size, real)
        twice = torch.where(inner, 2.0, 1.0)[:, None].to(real.dtype)
        # The imaginary part of the first, and of the one in the middle, is nothing's.
        table = torch.stack([cosine * twice, torch.where(inner[:, None], -2.0 * sine, 0.0)], 1).flatten(0, 1)
        signal = torch.stack([real, imaginary], -1).flatten(-2) @ table
    else:
        imaginary = torch.where(inner, imaginary, 0.0)
        behind = slice(1, last_dim_size - half + 1)
        whole = (torch.cat([real, real[..., behind].flip(-1)], -1), torch.cat([imaginary, -imaginary[..., behind].flip(-1)], -1))
        signal = last(whole, last_dim_size, 1)[0]
    shape = list(self.shape)
    shape[dim[-1]] = last_dim_size
    return scaled((signal,), scale(shape, dim, normalization))[0].movedim(-1, dim[-1])


def without_imaginary(function):
    """torch.fft.fft and its like, which make a real tensor a complex one first: of that one the imaginary part is none."""
    def made(input, *given, **named):
        dim = named.pop("dim", -1 if function is torch.fft.fft else (-2, -1) if function is torch.fft.fft2 else None)
        norm = named.pop("norm", None)
        if given or named or not input.is_floating_point():
            return function(input, *given, dim=dim, norm=norm, **named)
        dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
        normalization = {None: 0, "backward": 0, "ortho": 1, "forward": 2}[norm]
        return torch.ops.aten._fft_r2c(input, [d % input.dim() for d in dims], normalization, False)
    return made


FOURIER = {"_fft_r2c": of_reals, "_fft_c2c": of_complexes, "_fft_c2r": to_reals}
