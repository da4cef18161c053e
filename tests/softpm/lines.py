"""Lines of code that make programs keep their memory: lines.py SOURCES prints a table. A line of code is one that is not empty and no comment.

SOURCES has the sources of sqlite3 and memcached (scripts/get_sources, examples/sqlite/demo.py). In our own programs (structures/) the added lines stand
between #ifdef KEPT and #endif; those of SQLite's and memcached's are in examples/.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"


def lines_of(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


def counted(path):
    """Lines of the program as it is without -DKEPT, and those that it has only with it."""
    plain, added, inside = 0, 0, None
    for line in lines_of(path.read_text(encoding="utf-8")):
        if line.startswith("#ifdef KEPT"):
            inside = "kept"
        elif inside and line.startswith("#else"):
            inside = "plain"
        elif inside and line.startswith("#endif"):
            inside = None
        elif inside == "kept":
            added += 1
        else:
            plain += 1
    return plain, added


def structures():
    return {path.stem: counted(path) for path in sorted((HERE / "structures").glob("*.c"))}


def programs(sources):
    """Of SQLite's bank and of memcached: lines of all their sources, lines changed in them, and lines of ours beside them."""
    sqlite = next(path for path in sources.glob("sqlite3-[0-9]*/"))
    memcached = next(path for path in sources.glob("memcached-[0-9]*/"))
    patch = (EXAMPLES / "sqlite/keep.patch").read_text(encoding="utf-8")
    bank = lines_of((EXAMPLES / "sqlite/bank.c").read_text(encoding="utf-8"))
    size = len(lines_of((sqlite / "sqlite3.c").read_text(encoding="utf-8", errors="replace")))
    cache = sum(len(lines_of(path.read_text(encoding="utf-8", errors="replace"))) for path in memcached.glob("*.[ch]") if path.stem not in ("testapp", "timedrun", "sizes"))
    keep = sum(len(lines_of((EXAMPLES / "memcached" / name).read_text(encoding="utf-8"))) for name in ("keep.c", "kept_section.h"))
    return {
        f"SQLite {sqlite.name.partition('-')[2]} with a bank": (size + len(bank), len(re.findall(r"^\+[^+]", patch, re.MULTILINE))),
        f"{memcached.name}": (cache, 0, keep),
    }


def main():
    print(f"{'program':32} {'lines':>8} {'added or changed':>17} {'beside it':>10}")
    for name, counts in (structures() | programs(pathlib.Path(sys.argv[1]))).items():
        print(f"{name:32} {counts[0]:8,} {counts[1]:17} {counts[2] if len(counts) > 2 else 0:10}")


if __name__ == "__main__":
    main()
