#!/usr/bin/env python3
"""What no file of ours may hold: paths of somebody's machine, unfinished work, prints in libraries, dear includes."""
import re

import tree

# What is cited, and the services of an example that users fill in.
URL_HOSTS = {"127.0.0.1", "json-schema.org", "www.w3.org", "www.apache.org", "arxiv.org", "api.openai.com", "api.anthropic.com"}


def is_library(path):
    # A *_main.cc is a process of its own, which speaks a protocol on its standard output.
    return (path.parts[0] == "src" and path.parts[1] != "cli" and path.suffix in (".cc", ".h")
            and not path.name.endswith(("_test.cc", "_main.cc")))


def is_header(path):
    return path.suffix == ".h"


def is_light_header(path):
    # base/record.h is templates over JSON: for source files, and for headers of fields that these alone include.
    return is_header(path) and path.as_posix() != "src/base/record.h"


def is_anything(path):
    return True


# (which files, pattern, what to say, whether it counts inside string literals)
RULES = [
    (is_anything, re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b"), "unfinished work: do it or write an issue", True),
    (is_anything, re.compile(r"(?<![\w.$}~-])/(root|work|home/(?!someone\b)\w+|Users/\w+)/"), "a path of one machine", True),
    (is_library, re.compile(r"\bstd::cout\b|\b(std::)?printf\(|\bputs\(|\bfmt::print\(|\bfprintf\(stdout"),
     "libraries do not print: return it, or use the call's Listener", False),
    (is_light_header, re.compile(r"#include <nlohmann/json.hpp>"), "include <nlohmann/json_fwd.hpp> in headers: json.hpp costs seconds", True),
    (is_header, re.compile(r"^using namespace\b"), "a header must not open a namespace for those who include it", True),
]
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
URL = re.compile(r"https?://([\w.-]+)")
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "misc", "common"}


def main():
    problems = []
    for path in tree.files():
        if path.suffix in (".png", ".safetensors", ".gz") or path.name == "LICENSE":
            continue
        if path.stem in VAGUE_NAMES:
            problems.append(f"{path}:1: the name says nothing: put its parts beside their users")
        rules = [rule for rule in RULES if rule[0](path)]
        for number, line in tree.lines(path):
            code = STRING.sub('""', line)
            for _, pattern, advice, in_strings in rules:
                if pattern.search(line if in_strings else code):
                    problems.append(f"{path}:{number}: {advice}: {line.strip()[:100]}")
            for host in URL.findall(line):
                if host not in URL_HOSTS:
                    problems.append(f"{path}:{number}: {host} is not among the hosts that tests/words.py knows")
    tree.finish(problems, "words")


main()
