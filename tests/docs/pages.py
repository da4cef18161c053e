"""What the tests of the pages share: the pages, their parts, the files of the tree, and what make knows."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<marks>```|~~~)(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=marks)\s*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FOLDERS = (".ci", "bench", "bindings", "cmake", "docs", "examples", "include", "scripts", "src", "testing", "tests", "tools")


def pages_for_readers():
    """Those that a user or a newcomer reads: not the notes of benchmarks, nor what a folder says of itself."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def without_fences(text):
    return FENCE.sub("", text)


def spans(text):
    """What stands between backticks, in one line each."""
    return [" ".join(words.split()) for _, words in SPAN.findall(without_fences(text))]


def fences(text):
    """(mark, language, text) of each block; the mark is the comment right before it, or an empty text."""
    result = []
    for block in FENCE.finditer(text):
        mark = re.search(r"<!-- ([^\n]*?) -->\n+\Z", text[:block.start()])
        result.append((mark[1] if mark else "", block["language"], block["text"]))
    return result


def tables(text):
    """Rows of cells, the line below the heading included."""
    found = re.findall(r"(?:^\|.*\n?)+", without_fences(text), re.MULTILINE)
    return [[[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])] for row in table.splitlines()] for table in found]


@functools.cache
def files():
    """Names of the repository's files, without those of builds."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def text_of(name):
    return (ROOT / name).read_text(errors="replace")


@functools.cache
def make_targets():
    return frozenset(re.findall(r"^([a-z]+):.* ## ", text_of("Makefile"), re.MULTILINE))


def has_cmake_target(folder, target):
    """Whether a CMakeLists.txt in the folder makes it: as an example, a program, or a target of its own."""
    call = re.compile(rf"\b(?:remanence_add_example|add_executable|add_custom_target)\(\s*{re.escape(target)}\b")
    return any(call.search(text_of(name)) for name in files() if name.startswith(folder + "/") and name.endswith("/CMakeLists.txt"))


def is_name_for_make(target, name):
    """Whether `make TARGET NAME=name` does something."""
    if target == "test":
        return name == "all" or has_cmake_target(f"tests/{name}", f"test_{name}")
    if target == "demo":
        return has_cmake_target("examples", f"{name}_demo")
    single = f"bench/{name}.cpp" in files()
    return target == "bench" and (single or any(re.fullmatch(rf"bench/{re.escape(name)}/[^/]+", file) for file in files()))


def problem_of_make(words):
    """Why `make WORDS` does nothing, or None. [NAME=bank] may stand for NAME=bank, and … or <name> for any value."""
    target, *settings = words.replace("[", "").replace("]", "").split()
    if target not in make_targets():
        return f"make has no target {target}"
    for setting in settings:
        variable, _, value = setting.partition("=")
        if not re.search(rf"\$[({{]{re.escape(variable)}\b", text_of("Makefile") + text_of("scripts/test")):
            return f"make takes no {variable}"
        if variable == "NAME" and value != "…" and not value.startswith("<") and not is_name_for_make(target, value):
            return f"make {target} has no {value}"
    return None
