"""Draws the arguments of an operator's call by their types and names, for tests/oracle_property.py. Wants a torch."""
import math
import re

import torch

NARROW = {torch.uint8, torch.int8, torch.int16}


class Refused(Exception):
    """This draw makes no case."""


class Drawer:
    def __init__(self, op, rng):
        self.op, self.rng = op, rng
        some_empty = rng.random() < 0.1
        extents = [0, 1, 2, 3] if some_empty else [1, 2, 3, 4, 5, 6]
        self.pool = [rng.choice(extents) for _ in range(rng.choice([1, 2, 2, 3]))]
        self.shapes = []
        self.tensors = []
        kind = 0 if some_empty else rng.random()  # what PyTorch refuses of whole numbers it may take when there are none
        # One type for all tensors mostly; the others promote.
        self.dtypes = [torch.float64] if kind < 0.55 else [torch.int64] if kind < 0.63 else [torch.bool] if kind < 0.68 else \
            [torch.float64, torch.int64, torch.bool, torch.int32] if kind < 0.77 else \
            [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool] if kind < 0.85 else \
            [rng.choice([torch.uint8, torch.uint8, torch.int8, torch.int16])]
        # Of narrow whole numbers all that they hold, and numbers beside them that wrap around. Powers that leave 2^53 are hone's own.
        self.wide = rng.random() < 0.5 and op != "pow"
        # PyTorch makes NaN of a mean that is infinite, where it takes variances in one pass, and of padding times infinity or not;
        # of several NaN in a window it finds the last one here and the first one there.
        self.special = rng.random() < 0.2 and not re.search("norm|var|std|conv|pool", op)
        self.whole = rng.random() < 0.25  # ties and exact results

    def first(self):
        return self.shapes[0] if self.shapes else []

    def shape(self, name):
        rng, pool = self.rng, self.pool
        if not self.shapes:
            rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5])
            return [rng.choice(pool) for _ in range(rank)]
        first = rng.choice(self.shapes)
        way = rng.random()
        if "batch_norm" in self.op:  # PyTorch does not check these, and reads past their end
            if len(self.first()) < 2 or math.prod(self.first()) == 0:
                raise Refused
            return [self.first()[1]]
        if "convolution" in self.op and self.first()[1:2] == [0]:  # of no channels PyTorch makes none, whatever the weight's
            raise Refused
        if "convolution" in self.op and way < 0.8:
            if len(self.first()) < 3:
                raise Refused
            channels, made = self.first()[1], rng.choice([1, 2, 3, 4, 6])
            if name == "bias":
                return self.shapes[1][:1]
            return [rng.choice([made, channels]), rng.choice([channels, made, 1])] + [rng.randint(1, 3) for _ in self.first()[2:]]
        if name in ("weight", "bias", "running_mean", "running_var", "mean", "var") and way < 0.5:
            if len(self.first()) > 1 and rng.random() < 0.8:
                return [self.first()[1]]
            start = rng.randint(0, len(first))
            return first[start:]
        if way < 0.4:
            return list(first)
        if way < 0.6:  # broadcasts
            return [1 if rng.random() < 0.4 else extent for extent in first][rng.choice([0, 0, 0, 1, 2]):]
        if way < 0.75:  # a matrix that may follow the first one
            return first[:-2] + [first[-1] if first else 1, rng.choice(pool)]
        return [rng.choice(pool) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]))]

    def data(self, shape, dtype):
        rng = self.rng
        count = math.prod(shape)
        if dtype == torch.bool:
            values = [rng.random() < 0.5 for _ in range(count)]
        elif not dtype.is_floating_point:
            low, high = (0, 6) if dtype == torch.uint8 else (-6, 6)
            if self.wide and dtype in NARROW:
                low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            values = [rng.randint(low, high) for _ in range(count)]
        else:
            values = [float(rng.randint(-3, 3)) if self.whole or rng.random() < 0.1 else rng.gauss(0, 2) for _ in range(count)]
            if self.special:
                values = [rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, 40.0, 1e-30]) if rng.random() < 0.2 else v
                          for v in values]
        return torch.tensor(values, dtype=dtype).reshape(shape)

    def tensor(self, name):
        shape = self.shape(name)
        if math.prod(shape) > 600:
            raise Refused
        if name in ("index", "indices", "target_indices"):
            high = max(1, min([e for s in self.shapes[:1] for e in s] or [1]))
            low = -high if self.rng.random() < 0.2 else 0
            made = torch.tensor([self.rng.randint(low, high - 1) for _ in range(math.prod(shape))], dtype=torch.int64).reshape(shape)
        elif name in ("condition", "mask"):
            made = self.data(shape, torch.bool)
        else:
            made = self.data(shape, self.rng.choice(self.dtypes))
            if name in ("running_var", "var"):
                made = made.abs() if made.dtype != torch.bool else made
        self.shapes.append(shape)
        self.tensors.append(made)
        return made

    def dims(self, rank, at_least=0):
        chosen = self.rng.sample(range(rank), self.rng.randint(min(at_least, rank), rank))
        return [d - rank if self.rng.random() < 0.3 else d for d in chosen]

    def ints(self, name, size):
        rng, first = self.rng, self.first()
        rank = len(first)
        if name == "normalized_shape":
            return first[rng.randint(0, max(rank - 1, 0)):]
        if name == "dims" and rng.random() < 0.9:
            return [d - rank if rng.random() < 0.3 else d for d in rng.sample(range(rank), rank)]
        if name.startswith("dim"):
            return self.dims(rank)
        if name in ("size", "shape", "sizes", "output_size") and size is None:
            return self.size()
        if name in ("repeats",):
            return [rng.randint(1, 3) for _ in range(rank + rng.choice([0, 0, 1]))]
        if name in ("pad",):
            return [rng.choice([0, 1, 2, -1]) for _ in range(2 * rng.randint(0, rank))]
        if name in ("padding", "output_padding"):
            low, high = 0, 2
        elif name in ("shifts", "storage_offset"):
            low, high = -3, 3
        else:
            low, high = 1, 3
        return [rng.randint(low, high) for _ in range(size if size and rng.random() < 0.7 else rng.choice([1, 2, 3]))]

    def size(self):
        rng, first = self.rng, self.first()
        way = rng.random()
        if not self.shapes:
            return [rng.choice(self.pool) for _ in range(rng.randint(0, 3))]
        if way < 0.35:  # expand
            return [rng.choice(self.pool) for _ in range(rng.choice([0, 0, 1, 2]))] + \
                [-1 if rng.random() < 0.2 else rng.choice(self.pool) if e == 1 else e for e in first]
        count, factors = math.prod(first), []
        while count > 1 and len(factors) < 4:
            factor = rng.choice([f for f in range(1, count + 1) if count % f == 0])
            factors.append(factor)
            count //= factor
        if count != 1:
            factors.append(count)
        rng.shuffle(factors)
        if factors and rng.random() < 0.3:
            factors[rng.randrange(len(factors))] = -1
        return factors

    def whole_number(self, name):
        rng, rank = self.rng, len(self.first())
        first = self.first()
        if name.startswith("dim") or name in ("start_dim", "end_dim", "axis"):
            return rng.randint(-max(rank, 1), max(rank - 1, 0))
        if name in ("reduction",):
            return rng.randint(0, 2)
        if name in ("group", "groups", "num_groups"):
            return rng.choice([1, 1, 2, 3])
        if name in ("N", "C", "HxW") and rank >= 2:
            return {"N": first[0], "C": first[1], "HxW": math.prod(first[2:])}[name]
        if name in ("correction",):
            return rng.choice([0, 1, 2])
        if name in ("step", "size", "k"):
            return rng.randint(1, 3)
        return rng.randint(-3, 6)

    def real(self, name):
        rng = self.rng
        if name in ("eps",):
            return rng.choice([1e-5, 1e-3, 0.1])
        if name in ("p", "ord"):
            return rng.choice([0, 1, 2, 2.0, 3, 0.5, math.inf, -math.inf, 2.5])
        if name in ("exponent",):
            return rng.choice([0, 1, 2, 3, 4, -1, 0.5, -0.5, 2.5, -2, 1.0, 2.0])
        return rng.choice([0.5, 1.0, 2.0, -1.0, 0.1, 3, 1, 0, -2, 2.5, 20.0])

    def wrapping(self):
        """A whole number that a narrow type may hold only as another one."""
        return self.rng.choice([-1, -2, -3, -100, 127, 128, 254, 256, 300] if self.wide else [-1, -2, -3, 2, 3, 5])

    def value(self, name, kind, size):
        rng = self.rng
        if kind.startswith("Optional["):
            if rng.random() < 0.4 and "batch_norm" not in self.op:
                return None
            return self.value(name, kind[9:-1], size)
        if kind == "Tensor":
            return self.tensor(name)
        if kind == "List[Tensor]":
            count = rng.randint(1, 3)
            made = [self.tensor(name)]
            rank = len(self.shapes[-1])
            dim = rng.randrange(rank) if rank else 0
            for _ in range(count - 1):
                shape = list(self.shapes[-1])
                if rank:
                    shape[dim] = rng.choice(self.pool + [1, 2])
                made.append(self.data(shape, rng.choice(self.dtypes)))
                self.tensors.append(made[-1])
            return made
        if kind == "List[Optional[Tensor]]":
            return [None if rng.random() < 0.4 else self.tensor("indices") for _ in range(rng.randint(1, max(len(self.first()), 1)))]
        if kind in ("List[int]", "List[SymInt]"):
            return self.ints(name, size)
        if kind == "List[bool]":
            return [rng.random() < 0.5 for _ in range(size or 2)]
        if kind in ("int", "SymInt"):
            if name == "dtype":
                return self.value(name, "ScalarType", size)
            return self.whole_number(name)
        if kind == "float":
            return float(self.real(name))
        if kind in ("number", "Scalar"):
            if self.tensors and self.tensors[0].dtype in NARROW and rng.random() < 0.7:
                return self.wrapping()
            drawn = self.real(name)
            return drawn if rng.random() < 0.9 else bool(drawn)
        if kind == "bool":
            if name == "training" and len(self.tensors) < 5:  # no running statistics to fall back to, which PyTorch does not check
                return True
            return rng.random() < 0.5
        if kind == "str":
            return rng.choice(["none", "tanh", "floor", "trunc"])
        if kind == "ScalarType":
            return torch.float64 if 0 in self.pool else rng.choice([torch.float64, torch.int64, torch.float32, torch.int32, torch.bool])
        raise Refused
