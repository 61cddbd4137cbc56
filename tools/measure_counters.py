#!/usr/bin/env python3
"""How far CUPTI's counters are from ncu's, on kernels of the expert that run for half a millisecond and longer.

measure_counters.py HONE -o FILE.jsonl [--times N] [--only NAME...]    count the programs that FILE does not have, N times by each
measure_counters.py --table FILE.jsonl                          the medians beside each other, metric by metric
measure_counters.py HONE --programs DIR                         the problems and their programs, without a device

FILE gets a line a program: of each kernel and metric what CUPTI counted and what ncu counted, each time. The table has, of each
metric, how far the medians are apart as a share of ncu's, and as a share of what the metric is a part of (WHOLE): a byte written
is one of those moved, a sector that was found one of those looked up. Kernels shorter than SHORT are left out, and said.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile

from measuring import ask

NEAR = 0.02
SHORT = 100_000  # nanoseconds
ROUNDED = 0.005  # ncu prints two digits behind the point of what is no sum
STALLED = "smsp__average_warps_issue_stalled_"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
WHOLE = {
    "dram__bytes_read.sum": ["dram__bytes_read.sum", "dram__bytes_write.sum"],
    "dram__bytes_write.sum": ["dram__bytes_read.sum", "dram__bytes_write.sum"],
    "lts__t_sectors_lookup_hit.sum": ["lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"],
    "lts__t_sectors_lookup_miss.sum": ["lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"],
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
}


def tensor(name, shape, dtype="f32", **more):
    generator = {"generator": {"kind": "normal", "mean": 0, "deviation": 1}} if more.get("role") == "input" else {}
    return {"name": name, "shape": shape, "dtype": dtype} | more | generator


def problem(name, inputs, output, op, args, contract="fp32"):
    tensors = [tensor(f"x{n}", *each, role="input") for n, each in enumerate(inputs)] + [tensor("y", *output, role="output")]
    return {"hone_problem": 1, "name": name, "contract": contract, "tensors": tensors, "graph": [{"op": op, "args": args, "outputs": ["y"]}]}


ROWS = [32768, 8192]
HEADS = ([4, 32, 4096, 128], "bf16")
HALVES = ([8192, 8192], "f16")
PROBLEMS = [
    problem("row_sum", [(ROWS,)], ([32768],), "aten.sum.dim_IntList", {"self": "%x0", "dim": [1]}),
    problem("column_max", [(ROWS,)], ([8192],), "aten.amax.default", {"self": "%x0", "dim": [0]}),
    problem("softmax", [(ROWS,)], (ROWS,), "aten.softmax.int", {"self": "%x0", "dim": 1}),
    problem("layer_norm", [(ROWS,)], (ROWS,), "aten.layer_norm.default", {"input": "%x0", "normalized_shape": [8192]}),
    problem("gelu", [(ROWS,)], (ROWS,), "aten.gelu.default", {"self": "%x0"}),
    problem("running_sum", [(ROWS,)], (ROWS,), "aten.cumsum.default", {"self": "%x0", "dim": 1}),
    problem("argmax", [(ROWS,)], ([32768], "i64"), "aten.argmax.default", {"self": "%x0", "dim": 1}),
    problem("max_pool", [([64, 64, 256, 256],)], ([64, 64, 128, 128],), "aten.max_pool2d.default", {"self": "%x0", "kernel_size": [2, 2]}),
    problem("product_f16", [HALVES, HALVES], HALVES, "aten.matmul.default", {"self": "%x0", "other": "%x1"}, "torch"),
    problem("product_f32", [([4096, 4096],), ([4096, 4096],)], ([4096, 4096],), "aten.matmul.default", {"self": "%x0", "other": "%x1"}),
    problem("attention", [HEADS, HEADS, HEADS], HEADS, "aten.scaled_dot_product_attention.default",
            {"query": "%x0", "key": "%x1", "value": "%x2"}, "torch"),
    problem("depthwise", [([64, 128, 256, 256],), ([128, 1, 3, 3],)], ([64, 128, 256, 256],), "aten.convolution.default",
            {"input": "%x0", "weight": "%x1", "bias": None, "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": False,
             "output_padding": [0, 0], "groups": 128}),
    problem("order", [([65536, 1024],)], ([65536, 8],), "aten.topk.default", {"self": "%x0", "k": 8, "dim": 1}),
]
PROBLEMS[-1]["tensors"].append(tensor("places", [65536, 8], "i64", role="output"))
PROBLEMS[-1]["graph"][0]["outputs"].append("places")


def programs(hone, folder, names):
    """name -> (problem, program), each proposed by the expert."""
    made = {}
    for one in PROBLEMS:
        if names and one["name"] not in names:
            continue
        path, program = folder / f"{one['name']}.json", folder / f"{one['name']}.hk"
        path.write_text(json.dumps(one))
        answer = ask([hone, "propose", str(path), "--target", "cuda", "--device", "h200", "--json"])
        if not isinstance(answer, list) or not answer:
            sys.exit(f"{one['name']}: {answer['error']['message'] if answer else 'no program'}")
        program.write_text(answer[0]["text"])
        made[one["name"]] = (path, program)
    return made


def measure(hone, output, times, names):
    known = {row["program"] for row in read(output)}
    with tempfile.TemporaryDirectory() as folder:
        for name, (path, program) in programs(hone, pathlib.Path(folder), names).items():
            if name in known:
                continue
            answer = ask([hone, "profile", str(path), *[str(program)] * times, "--cache", "clean", "--with", "ncu", "--json"])
            kernels = {}
            for profile in answer.get("profiles", [answer]):
                for each in profile.get("oracle", []):
                    both = kernels.setdefault(each["kernel"], {}).setdefault(each["metric"], [[], []])
                    both[0].append(each["counted"])
                    both[1].append(each["oracle"])
            if not kernels:
                print(f"{name}: {(answer.get('error') or {}).get('message', 'nothing was counted twice')}", file=sys.stderr)
                continue
            row = {"program": name, "date": datetime.date.today().isoformat(), "device": answer.get("device"), "kernels": kernels}
            with open(output, "a") as out:
                out.write(json.dumps(row, separators=(",", ":")) + "\n")


def read(path):
    path = pathlib.Path(path)
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def medians(row):
    """kernel -> metric -> (CUPTI's, ncu's)"""
    return {kernel: {metric: tuple(map(statistics.median, both)) for metric, both in counts.items()} for kernel, counts in row["kernels"].items()}


def share(difference, whole):
    return difference / abs(whole) if whole else float("inf") if difference else 0.0


def apart(metric, counts):
    """Of CUPTI's and ncu's, as a share of ncu's, and of what the metric is a part of."""
    counted, oracle = counts[metric]
    difference = max(0.0, abs(counted - oracle) - (0.0 if metric.endswith((".sum", ".max")) else ROUNDED))
    parts = WHOLE.get(metric) or ([LATENCY] if metric.startswith(STALLED) else [metric])
    whole = sum(counts[part][1] for part in parts if part in counts)
    return share(difference, oracle), share(difference, whole)


def table(rows):
    metrics, short = {}, []
    for row in rows:
        for kernel, counts in medians(row).items():
            if counts["gpu__time_duration.sum"][1] < SHORT:
                short.append(f"{row['program']}'s {kernel}")
                continue
            for metric in counts:
                metrics.setdefault(metric, []).append((*apart(metric, counts), row["program"]))
    print("| metric | within 2 % | in the middle, at most, % | of the whole: within 2 % | at most, % | where |\n|---|---|---|---|---|---|")
    near = lambda found, which: sum(one[which] <= NEAR for one in found)
    for metric, found in sorted(metrics.items(), key=lambda item: (-near(item[1], 0), -near(item[1], 1), item[0])):
        own = [100 * one[0] for one in found]
        worst = max(found, key=lambda one: one[1])
        print(f"| `{metric}` | {near(found, 0)} of {len(found)} | {statistics.median(own):.2g}, {max(own):.2g} | {near(found, 1)} | "
              f"{100 * worst[1]:.2g} | {worst[2] if worst[1] else '-'} |")
    for which, of in ((0, "their own"), (1, "the whole")):
        whole = sum(near(found, which) == len(found) for found in metrics.values())
        pairs = sum(near(found, which) for found in metrics.values())
        print(f"\nOf {of}: {whole} of {len(metrics)} metrics on every kernel, {pairs} of {sum(map(len, metrics.values()))} pairs.")
    print(f"\nLeft out, shorter than {SHORT // 1000} us: {', '.join(short) or 'none'}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", nargs="?")
    parser.add_argument("--only", nargs="+", metavar="NAME", dest="names")
    parser.add_argument("-o", "--output")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--programs", metavar="DIR")
    parser.add_argument("--table", metavar="FILE")
    args = parser.parse_args()
    if args.table:
        return table(read(args.table))
    if not args.hone or bool(args.output) == bool(args.programs):
        parser.error("name the program hone, and where to write: -o FILE or --programs DIR")
    if args.programs:
        folder = pathlib.Path(args.programs)
        folder.mkdir(parents=True, exist_ok=True)
        return programs(args.hone, folder, args.names)
    measure(args.hone, args.output, args.times, args.names)


if __name__ == "__main__":
    main()
