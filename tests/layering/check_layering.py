"""Reads the #includes of src/ and include/ and reports those that the layers forbid.

usage: check_layering.py <repository>

L1  A layer includes itself and the layers that its CMakeLists.txt names (remanence_add_layer), as "layer/file.hpp"; those use
    each other in one direction, and src/CMakeLists.txt has each after those that it uses.
L2  Headers of the operating system are for src/os alone: every system call goes through it, so that tests can put a
    simulated disk in its place. Trackers (src/track) are made of system calls about memory, and have them, too.
L3  A third-party header belongs to the one layer that wraps it.
L4  Installed headers include the C++ standard library and each other, nothing else; boost.hpp, which programs include
    at will, also Boost.
L5  What opens a descriptor is called within os::open_above_standard(), so that none of ours is 0, 1 or 2: a program may
    have closed those, and write there all the same.
L6  Tools include public headers and their own, nothing of src/.
L7  A rule that comments refer to, such as "PR1", is stated in one file.
"""

import re
import sys
from pathlib import Path

# Public headers are implemented by a layer, and so are known to it and to those that may use it. All others belong to api.
PUBLIC_HEADER_LAYER = {
    "remanence/error.hpp": "base",
    "remanence/latency_histogram.hpp": "base",
    "remanence/history_options.hpp": "history",
    "remanence/inspect.hpp": "inspect",
    "remanence/versions.hpp": "inspect",
    "remanence/types/class_traits.hpp": "types",
    "remanence/types/layout_number.hpp": "types",
    # How hash tables lay out their elements: they are searched, and made, by the same.
    "remanence/containers/detail/hash_bytes.hpp": "inspect",
    "remanence/containers/detail/hash_group.hpp": "inspect",
    # The leaves of packed maps: they are read, and made, by the same.
    "remanence/containers/detail/packed_leaf.hpp": "inspect",
    "remanence/containers/detail/text_keys.hpp": "objects",
}
PUBLIC_FOLDER_LAYER = {"remanence/types/detail/": "types"}

# Intrinsics and the C++ ABI are the compiler's, not the operating system's.
COMPILER_HEADERS = {"cxxabi.h", "immintrin.h"}
# Of libstdc++ in its debug mode, which has no name in the standard.
STANDARD_IN_DEBUG_MODE = {"debug/safe_base.h"}
THIRD_PARTY = {"xxhash.h": "base", "sanitizer/asan_interface.h": "os", "valgrind/memcheck.h": "os"}
# Public headers that nothing else includes, and what they are for.
OPT_IN = {"remanence/boost.hpp": "boost/"}

# C headers without a better C++ form, which the C API needs.
C_API_HEADERS = {"stdbool.h", "stddef.h", "stdint.h"}

ADD_LAYER = re.compile(r"remanence_add_layer\((\w+)(?:\s+USES\s+([\w\s]*?))?(?:\s+(?:SMALL|PER_LIBRARY|PARTS)\s[^)]*)?\)")
IN_ORDER = re.compile(r"set\(REMANENCE_LAYERS ([\w\s]+)\)")
SYSTEM_LAYERS = {"os", "track"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\S.*))')


RULE = re.compile(r"^// {1,3}([A-Z]{1,2}\d)[. ] ?[A-Z]", re.MULTILINE)

OPENS = re.compile(
    r"(?<![\w>])::(?:open|openat2?|creat|memfd_create|fopen|opendir|dup[23]?|socket|socketpair|accept4?|pipe2?|eventfd"
    r"|timerfd_create|signalfd|epoll_create1?|inotify_init1?|shm_open)\s*\("
    r"|\bSYS_userfaultfd\b|\bstd::(?:[io]?fstream|fopen|tmpfile)\b|\bdirectory_iterator\b"
)
COMMENT = re.compile(r"//[^\n]*")


def unguarded_opens(path):
    """Lines of calls that open a descriptor, outside of a statement with open_above_standard()."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    for match in OPENS.finditer(text):
        if "open_above_standard(" not in text[text.rfind(";", 0, match.start()) + 1 : match.start()]:
            yield text.count("\n", 0, match.start()) + 1, match.group().rstrip("(")


def is_standard(header):
    """The C++ standard library's headers are the ones with neither a folder nor an extension."""
    return re.fullmatch(r"[a-z_0-9]+", header) is not None


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.groups()


def read_layers(repository):
    """{layer: those that it may use}, and what is wrong with that."""
    uses = {}
    wrong = []
    for path in sorted((repository / "src").glob("*/CMakeLists.txt")):
        match = ADD_LAYER.search(path.read_text(encoding="utf-8"))
        if match is None or match[1] != path.parent.name:
            wrong.append(f"{path.relative_to(repository)}: L1: does not say what {path.parent.name} may use")
        else:
            uses[match[1]] = set((match[2] or "").split())
    order = IN_ORDER.search((repository / "src/CMakeLists.txt").read_text(encoding="utf-8"))[1].split()
    for layer in uses.keys() - set(order):
        wrong.append(f"src/CMakeLists.txt: L1: {layer} is missing")
    for layer, used in uses.items():
        before = order[: order.index(layer)] if layer in order else order
        wrong += [f"src/{layer}/CMakeLists.txt: L1: {each} is not before {layer}" for each in used - set(before)]
    return uses, wrong


def public_layer(header):
    for folder, layer in PUBLIC_FOLDER_LAYER.items():
        if header.startswith(folder):
            return layer
    return PUBLIC_HEADER_LAYER.get(header, "api")


def fault_upward(uses, layer, target_layer, header):
    if target_layer != layer and target_layer not in uses[layer]:
        return f"L1: {layer} must not know {target_layer} ({header})"
    return None


def fault_in_source(uses, layer, angled, quoted):
    """What is wrong with an include in src/<layer>, or None."""
    if quoted is not None:
        folder, _, rest = quoted.partition("/")
        if not rest or folder not in uses:
            return f'L1: "{quoted}" must be written as "layer/file.hpp"'
        return fault_upward(uses, layer, folder, quoted)
    if angled.startswith("remanence/"):
        return fault_upward(uses, layer, public_layer(angled), angled)
    if is_standard(angled) or angled in COMPILER_HEADERS:
        return None
    if angled in THIRD_PARTY:
        owner = THIRD_PARTY[angled]
        return None if layer == owner else f"L3: <{angled}> is wrapped by src/{owner}"
    if layer == "capi" and angled in C_API_HEADERS:
        return None
    return None if layer in SYSTEM_LAYERS else f"L2: <{angled}> is for src/os and src/track (C headers: use <c…>)"


def fault_in_public(uses, header, layer, is_c, angled, quoted):
    """What is wrong with an include in include/, or None."""
    if quoted is not None:
        return f'L4: "{quoted}" must be written as <remanence/…>'
    if angled in OPT_IN:
        return f"L4: <{angled}> is for programs to include"
    if angled.startswith("remanence/"):
        return fault_upward(uses, layer, public_layer(angled), angled)
    if header in OPT_IN and angled.startswith(OPT_IN[header]):
        return None
    if is_standard(angled) or angled in STANDARD_IN_DEBUG_MODE or (is_c and angled in C_API_HEADERS):
        return None
    return f"L4: <{angled}> is not of the C++ standard library"


def faults(repository):
    uses, wrong = read_layers(repository)
    yield from wrong
    source, public = repository / "src", repository / "include"
    files = [p for top in (source, public) for p in sorted(top.rglob("*")) if p.suffix in {".cpp", ".hpp", ".h", ".c"}]
    for path in files:
        in_source = source in path.parents
        layer = path.relative_to(source).parts[0] if in_source else public_layer(str(path.relative_to(public)))
        if layer not in uses:
            yield f"{path.relative_to(repository)}: not in the folder of a layer"
            continue
        for number, (angled, quoted, other) in includes(path):
            if other is not None:
                fault = f"cannot be checked: #include {other}"
            elif in_source:
                fault = fault_in_source(uses, layer, angled, quoted)
            else:
                fault = fault_in_public(uses, str(path.relative_to(public)), layer, path.suffix == ".h", angled, quoted)
            if fault:
                yield f"{path.relative_to(repository)}:{number}: {fault}"
    for path in sorted(p for p in (repository / "tools").rglob("*") if p.suffix in {".cpp", ".hpp"}):
        for number, (_, quoted, _) in includes(path):
            if quoted is not None and "/" in quoted:
                yield f"{path.relative_to(repository)}:{number}: L6: tools know public headers only ({quoted})"
    stated = {}
    for path in [*files, *sorted((repository / "testing").rglob("*.hpp"))]:
        for match in RULE.finditer(path.read_text(encoding="utf-8")):
            if stated.setdefault(match[1], path) != path:
                yield f"{path.relative_to(repository)}: L7: {match[1]} is stated in {stated[match[1]].name}, too"
    for path in sorted(p for p in [*files, *(repository / "tools").rglob("*.cpp")] if p.name != "descriptor.cpp"):
        for number, call in unguarded_opens(path):
            yield f"{path.relative_to(repository)}:{number}: L5: {call} may get descriptor 0, 1 or 2"


def main():
    found = list(faults(Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "every include is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
