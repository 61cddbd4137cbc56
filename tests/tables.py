#!/usr/bin/env python3
"""One file is one of a kind: every file of a table's folder is in the generated table. tables.py BUILD_FOLDER."""
import pathlib
import re
import sys

import tree

TABLE = re.compile(r"hone_table\(\s*(\w+)\s+(\S+)\s+(\w+)\s+(\w+)\s+(\w+)\s+([^\s)]+)(?:\s+[\w:]+)?\s*\)")


def main(build):
    problems, rows, tables = [], 0, 0
    for lists in tree.files("CMakeLists.txt"):
        for number, line in tree.lines(lists):
            match = TABLE.search(line)
            if not match:
                continue
            tables += 1
            folder, prefix = lists.parent / match[2], match[4]
            generated = pathlib.Path(build) / lists.parent / f"{prefix}_table.cc"
            text = generated.read_text() if generated.is_file() else ""
            sources = [path for path in tree.files(".cc") if path.parent == folder and not path.name.endswith("_test.cc")]
            if not sources:
                problems.append(f"{lists}:{number}: {folder} holds no file")
            for source in sources:
                rows += 1
                if f"&{prefix}_{source.stem}::kRow," not in text:
                    problems.append(f"{source}:1: not in {generated}: build again")
                if not re.search(rf"^namespace (\w+::)*{prefix}_{source.stem} {{", (tree.ROOT / source).read_text(), re.M):
                    problems.append(f"{source}:1: has no namespace {prefix}_{source.stem}, in which its row would be")
    tree.finish(problems, f"{rows} rows of {tables} tables")


main(sys.argv[1])
