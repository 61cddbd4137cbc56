#!/usr/bin/env python3
"""Every file of test data is used: a test names it, or walks the folder that it lies in, or a file beside it includes it."""
import tree


def text_of(path):
    return (tree.ROOT / path).read_text(encoding="utf-8", errors="replace")


def is_data(path):
    return path.parts[:2] == ("tests", "data") or "testdata" in path.parts


def is_test(path):
    return not is_data(path) and (path.name.endswith("_test.cc") or "testing" in path.parts or
                                  (path.parts[0] == "tests" and path.suffix == ".py" and path.name != "data_used.py"))


def walks(test, folder):
    return f"{folder}" in test and any(word in test for word in ("directory_iterator", ".iterdir()", ".glob("))


def main():
    data = [path for path in tree.files() if is_data(path)]
    tests = [text_of(path) for path in tree.files(".cc", ".h", ".py") if is_test(path)]
    unused = []
    for path in data:
        beside = [text_of(other) for other in data if other.parent == path.parent and other != path]
        named = any(f'{quote}{name}{end}' in text for text in tests for name in (path.stem, path.name) for quote in '"/' for end in '"/.')
        if not named and not any(walks(text, path.parent.name) for text in tests) and \
                not any(f'#include "{path.name}"' in text for text in beside):
            unused.append(f"{path}:1: no test uses this file: name it in one, or remove it")
    tree.finish(unused, f"{len(data)} files of test data")


main()
