#!/usr/bin/env python3
"""A tool for `hone diagnose --tools examples/tools`: kernels whose machine code outgrows the instruction cache."""
import json
import sys

CACHE_BYTES = 128 << 10  # of a multiprocessor, as is said of Hopper

findings = []
for profile in json.load(sys.stdin)["profiles"]:
    facts = {fact["name"]: fact["value"] for fact in profile["facts"]}
    size = facts.get("text_bytes", 0)
    if size > CACHE_BYTES:
        findings.append({
            "subject": profile["subject"],
            "title": "code larger than the instruction cache",
            "evidence": f"{size / 1024:.0f} KiB of instructions, where {CACHE_BYTES >> 10} KiB stay near",
            "advice": "Unroll less.",
            "lost": 0.2,
            "confidence": 0.5,
        })
json.dump({"findings": findings}, sys.stdout)
