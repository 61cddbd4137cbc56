#!/usr/bin/env python3
"""No file of ours has more than 500 lines, unless its head says why it is one: a comment that begins "One file because"."""
import tree

LIMIT, HEAD = 500, 40
KINDS = (".cc", ".h", ".cu", ".cuh", ".cpp", ".py", ".sh", ".txt", ".cmake")


def main():
    problems, looked_at = [], 0
    for path in tree.files(*KINDS):
        if path.parts[0] not in ("src", "include", "tests", "tools", "cmake", "python"):
            continue
        lines = [line for _, line in tree.lines(path)]
        looked_at += 1
        reason = any(line.lstrip("/#* ").startswith("One file because ") for line in lines[:HEAD])
        if len(lines) > LIMIT and not reason:
            problems.append(f"{path}:{LIMIT + 1}: {len(lines)} lines: cut it where a reader would, or say in its head why it is "
                            "one ('One file because ...')")
        if len(lines) <= LIMIT and reason:
            problems.append(f"{path}:1: {len(lines)} lines need no reason to be one file")
    tree.finish(problems, f"{looked_at} files of at most {LIMIT} lines, or with a reason")


main()
