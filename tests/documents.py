#!/usr/bin/env python3
"""What the documents list is what there is: neither missing nor too much. documents.py HONE

Lists of folders, files, verbs, options, environment variables, types, steps and fields are held against the sources' folders,
the schemas (which the program reads by) and the program's own help. Families, knobs, functions, outcomes and the run store's
tables are held against theirs by tests beside them.
"""
import json
import pathlib
import re
import subprocess
import sys

import tree

DOCS = tree.ROOT / "docs"
QUOTED = re.compile(r"`([^`]+)`")
FENCED = re.compile(r"(?ms)^```.*?^```$")


def page(name):
    return (DOCS / name).read_text()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def table(name, header):
    """(line, cells) of each row of the first table of the page whose header row begins with these cells."""
    lines = page(name).splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith(f"| {header} |")), None)
    if begin is None:
        return []
    rows = []
    for number in range(begin + 2, len(lines)):
        if not lines[number].startswith("|"):
            break
        rows.append((number + 1, [cell.strip() for cell in lines[number].strip("|").split(" | ")]))
    return rows


class Check:
    def __init__(self):
        self.problems, self.held = [], 0

    def say(self, where, number, what):
        self.problems.append(f"{where}:{number}: {what}")

    def same(self, where, number, what, listed, there):
        """The names of a list are those that there are."""
        self.held += len(there)
        for name in sorted(set(there) - set(listed)):
            self.say(where, number, f"{what} lacks '{name}'")
        for name in sorted(set(listed) - set(there)):
            self.say(where, number, f"{what} has '{name}', which there is none of")

    def column(self, name, header, what, there):
        rows = table(name, header)
        if not rows:
            return self.say(f"docs/{name}", 1, f"no table begins with the column '{header}'")
        self.same(f"docs/{name}", rows[0][0], what, [q for _, cells in rows for q in QUOTED.findall(cells[0])], there)

    def words(self, name, pattern, what, there):
        """The words between the groups of the pattern, which the page has once."""
        text = page(name)
        match = re.search(pattern, text)
        if not match:
            return self.say(f"docs/{name}", 1, f"nothing says {what}")
        self.same(f"docs/{name}", line_of(text, match.start()), what, re.findall(r"\w+", match[1]), there)


def constants(schema, key):
    """The values that a property can have, in all of a schema."""
    found = []
    if isinstance(schema, dict):
        one = schema.get("properties", {}).get(key, {})
        found += one.get("enum", [one["const"]] if "const" in one else [])
        for value in schema.values():
            found += constants(value, key)
    elif isinstance(schema, list):
        for value in schema:
            found += constants(value, key)
    return found


def hold_schemas(check):
    plan, problem = (json.loads(page(f"{name}.schema.json")) for name in ("plan", "problem"))
    types = problem["$defs"]["dtype"]["enum"]
    check.same("docs/plan.schema.json", 1, "its dtype", constants(plan, "dtype"), types)
    check.words("language.md", r"TYPE +=([^\n]*)", "TYPE", types)
    check.words("problem.md", r"`dtype`\s+is\s+one\s+of\s+`([^`]*)`", "dtype", types)
    check.words("problem.md", r"\| `contract` \| how accurate: (.*?)\. ",
                "contract", problem["properties"]["contract"]["enum"] + ["the", "default"])
    check.column("problem.md", "field", "the table of fields", problem["properties"])
    generators = [q for _, cells in table("problem.md", "generator") for q in re.findall(r'"kind": "(\w+)"', cells[0])]
    check.same("docs/problem.md", 1, "the table of generators", generators, constants(problem["$defs"]["generator"], "kind"))
    check.column("plan.md", "`do`", "the table of steps", constants(plan["$defs"]["step"], "do"))
    check.column("plan.md", "`kind`", "the table of arguments", constants(plan["$defs"]["argument"], "kind"))
    compute = [q for _, cells in table("plan.md", "field") if "`compute`" in cells[0] for q in QUOTED.findall(cells[1])]
    check.same("docs/plan.md", 1, "the row of `compute`", compute, plan["$defs"]["compute"]["enum"])


def hold_folders(check):
    folders = [path.name for path in (tree.ROOT / "src").iterdir() if path.is_dir()]
    check.column("architecture.md", "folder", "the table of folders", folders)
    check.column("models.md", "dialect", "the table of dialects",
                 [path.stem.replace("_", "-") for path in (tree.ROOT / "src/model/dialects").glob("*.cc") if not path.stem.endswith("_test")])
    check.column("models.md", "form", "the table of what programs print",
                 [path.stem.replace("_", "-") for path in (tree.ROOT / "src/model/formats").glob("*.cc")])
    text = page("architecture.md")
    for match in re.finditer(r"`((?:\w+/)*\w+\.(?:h|cc|py|cmake))`", text):
        path = match[1]
        places = [tree.ROOT / "src" / path, tree.ROOT / path, *(tree.ROOT / "src" / folder / path for folder in folders)]
        check.held += 1
        if path not in ("x_test.cc", "x.cc") and not any(place.is_file() for place in places):
            check.say("docs/architecture.md", line_of(text, match.start()), f"there is no {path}")
    guide = (tree.ROOT / "CONTRIBUTING.md").read_text()
    for path in set(re.findall(r"`((?:src|docs|tests|tools|cmake)/[\w./]+)`", guide)):
        check.held += 1
        if not (tree.ROOT / path).exists():
            check.say("CONTRIBUTING.md", line_of(guide, guide.find(path)), f"there is no {path}")
    for lists in tree.files("CMakeLists.txt"):
        for number, line in tree.lines(lists):
            match = re.search(r"hone_table\(\s*\w+\s+(\S+)", line)
            if match and f"`{lists.parent / match[1]}/`" not in guide:
                check.say("CONTRIBUTING.md", 1, f"nothing says how one adds to {lists.parent / match[1]}/, which is a table")


def hold_commands(check, program):
    def hone(*words):
        return json.loads(subprocess.run([program, *words, "--json"], check=True, capture_output=True, text=True).stdout)

    verbs = {verb["name"]: verb["arguments"]["properties"] for verb in hone("help")["verbs"]}
    hidden = {path.stem.replace("_", "-") for path in tree.files(".cc") if path.parts[:3] == ("src", "command", "commands")} - set(verbs)
    common = {"help", "json"}
    spoken = 0
    for path in tree.files(".md"):
        if path.parts[:2] == ("docs", "measured"):
            continue  # what was typed then
        text = (tree.ROOT / path).read_text()
        fenced = FENCED.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)  # the page without its blocks
        blocks = "".join(c if d == " " and c != " " else d if d == "\n" else " " for c, d in zip(text, fenced))
        for match in [*re.finditer(r"(?m)^\s*(?:\$ )?(?:\S*/)?hone ([a-z]+(?:-[a-z]+)*)\b(.*?)(?= [#|&>]|;|$)", blocks),
                      *re.finditer(r"`hone ([a-z]+(?:-[a-z]+)*)\b([^`]*)`", fenced)]:
            verb, rest, number = match[1], match[2], line_of(text, match.start())
            spoken += 1
            if verb == "help" or verb in hidden:
                continue
            if verb not in verbs:
                check.say(path, number, f"there is no `hone {verb}`")
                continue
            for option in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", rest):
                check.held += 1
                if option not in verbs[verb] and option.replace("-", "_") not in verbs[verb] and option not in common:
                    check.say(path, number, f"`hone {verb}` has no --{option}")
    if spoken < 50:
        check.say("docs", 1, f"only {spoken} commands were found: the pattern of this check is at fault")
    known = set(re.findall(r"\b[A-Z][A-Z_]{3,}\b", hone("help", "environment")["text"]))
    for path in tree.files(".cc", ".h"):
        if path.parts[0] != "src" or path.name.endswith("_test.cc") or "testing" in path.parts:
            continue
        for number, line in tree.lines(path):
            for name in re.findall(r'getenv\("(\w+)"\)', line):
                check.held += 1
                if name not in known and name != "LD_LIBRARY_PATH":
                    check.say(path, number, f"`hone help environment` does not list {name}")
    macros = {name for path in tree.files(".h", ".cc") for _, line in tree.lines(path)
              for name in re.findall(r"^#define (HONE_\w+)", line)}
    known |= macros
    for path in tree.files(".py"):
        if path.parts[:2] == ("python", "hone"):  # what the package reads, and the program does not
            known |= set(re.findall(r'environ(?:\.get\(|\[)"(HONE_\w+)"', (tree.ROOT / path).read_text()))
    for path in tree.files(".md"):
        for number, line in tree.lines(path):
            for name in re.findall(r"`(HONE_[A-Z_]+)`", line):
                check.held += 1
                if name not in known:
                    check.say(path, number, f"`hone help environment` does not list {name}")


def main(program):
    check = Check()
    hold_schemas(check)
    hold_folders(check)
    hold_commands(check, str(pathlib.Path(program).resolve()))
    tree.finish(check.problems, f"{check.held} names in documents")


main(sys.argv[1])
