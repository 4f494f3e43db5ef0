#!/usr/bin/env python3
"""Gathers the first inputs of the fuzz targets: every spec of the repository and every fence of its pages.

    seeds.py ROOT OUT    writes OUT/specs/* (parse, fmt, sema, check) and OUT/overrides/* (override)
"""
import hashlib
import pathlib
import re
import sys

FOLDERS = ["examples", "stdlib", "tests"]
FENCE = re.compile(r"^```loop[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)\s*=\s*(\S.*?)\s*;?$")
BLOCK = re.compile(r"^([A-Za-z_]\w*)(?:\s+([A-Za-z_]\w*))?\s*\{$")


def specs(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.loop")):
            yield path.read_bytes()
    for path in sorted((root / "docs").rglob("*.md")):
        for fence in FENCE.findall(path.read_text(encoding="utf-8")):
            yield fence.encode()
    for path in sorted((root / "tests" / "fuzz" / "regressions").rglob("*")):
        if path.is_file():
            yield path.read_bytes()


def overrides(text):
    """`window.size = 8 samples` for the keys of a loop, as far as lines tell."""
    stack = []
    for line in text.decode("utf-8", "replace").splitlines():
        line = line.split("#")[0].strip()
        block = BLOCK.match(line)
        if block:
            stack.append(block[2] if block[1] in ("evaluate", "average") and block[2] else block[1])
        elif line == "}" and stack:
            stack.pop()
        elif stack and (key := ASSIGNMENT.match(line)):
            yield ".".join(stack[1:] + [key[1]]) + "=" + key[2]


def write(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def main():
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for spec in specs(root):
        write(out / "specs", spec)
        keys = list(overrides(spec))
        for key in keys:
            write(out / "overrides", key.encode())
        if keys:
            write(out / "overrides", "\n".join(keys).encode())


if __name__ == "__main__":
    main()
