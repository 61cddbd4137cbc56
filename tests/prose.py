#!/usr/bin/env python3
"""Lines of our documents have at most 120 columns; rows of tables and blocks of code as many as they need. With --mend, paragraphs and
points of lists that have longer ones are wrapped anew."""
import pathlib
import re
import sys

import tree

COLUMNS = 120
FENCE = re.compile(r"\s*(```|~~~)")
POINT = re.compile(r"( *)([-*]|\d+\.) +")
WORD = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")  # what a line must not end within


def blocks(lines):
    """Runs of lines that belong together, each with the columns its later lines begin at, or None where nothing may be wrapped."""
    block, indent, fenced = [], None, False
    for line in lines:
        fence, point = FENCE.match(line), POINT.match(line)
        text = not (fenced or fence or line.startswith(("|", "#", "    ", "\t", "<")) and not (block and indent))
        if text and line.strip() and not point and block and indent is not None:
            block.append(line)  # a paragraph goes on
            continue
        if block:
            yield block, indent
        if fence:
            fenced = not fenced
        block = [line]
        indent = None if not text or not line.strip() else point.end() if point else len(line) - len(line.lstrip())
    if block:
        yield block, indent


def wrapped(block, indent):
    """The block's words in lines of at most COLUMNS where they fit."""
    point = POINT.match(block[0])
    begin = point.group(0) if point else " " * indent
    words = WORD.findall(" ".join(line.strip() for line in block)[len(begin.lstrip()):])
    lines, line = [], begin
    for word in words:
        if len(line) > indent and line != begin and len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line = " " * indent
        line += word if line in (begin, " " * indent) else " " + word
    return [*lines, line]


def main():
    problems = []
    documents = [path for path in tree.files(".md")]
    for path in documents:
        lines = (tree.ROOT / path).read_text().splitlines()
        mended, number = [], 1
        for block, indent in blocks(lines):
            long = [i for i, line in enumerate(block) if len(line) > COLUMNS]
            if indent is not None and long:
                problems.append(f"{path}:{number + long[0]}: {len(block[long[0]])} columns; tests/prose.py --mend wraps it")
                mended += wrapped(block, indent)
            else:
                mended += block
            number += len(block)
        if "--mend" in sys.argv and mended != lines:
            pathlib.Path(tree.ROOT / path).write_text("\n".join(mended) + "\n")
    if "--mend" in sys.argv:
        problems = []
    tree.finish(problems, f"{len(documents)} documents")


main()
