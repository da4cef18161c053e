"""Reads the #includes of src/ and include/ and reports those that the layers forbid.

usage: check_layering.py <repository>

L1  A layer includes itself and the layers before it, as "layer/file.hpp".
L2  Headers of the operating system are for src/os alone: every system call goes through it, so that tests can put a
    simulated disk in its place.
L3  A third-party header belongs to the one layer that wraps it.
L4  Installed headers include the C++ standard library and each other, nothing else; boost.hpp, which programs include
    at will, also Boost.
L5  What opens a descriptor is called within os::open_above_standard(), so that none of ours is 0, 1 or 2: a program may
    have closed those, and write there all the same.
"""

import re
import sys
from pathlib import Path

LAYERS = ["base", "os", "format", "store", "log", "view", "alloc", "txn", "types", "api", "capi"]

# A public header is implemented by a layer, and so is known to it and to those above. All others belong to api.
PUBLIC_HEADER_LAYER = {
    "remanence/error.hpp": "base",
    "remanence/latency_histogram.hpp": "base",
    "remanence/detail/aggregate.hpp": "types",
    "remanence/detail/parts.hpp": "types",
    "remanence/detail/position_independent.hpp": "types",
    "remanence/detail/member_names.hpp": "types",
    "remanence/detail/fingerprint.hpp": "types",
    "remanence/layout_number.hpp": "types",
    "remanence/detail/outside_block.hpp": "types",
}

# Intrinsics and the C++ ABI are the compiler's, not the operating system's.
COMPILER_HEADERS = {"cxxabi.h", "immintrin.h"}
# Of libstdc++ in its debug mode, which has no name in the standard.
STANDARD_IN_DEBUG_MODE = {"debug/safe_base.h"}
THIRD_PARTY = {"xxhash.h": "base"}
# Public headers that nothing else includes, and what they are for.
OPT_IN = {"remanence/boost.hpp": "boost/"}

# C headers without a better C++ form, which the C API needs.
C_API_HEADERS = {"stdbool.h", "stddef.h", "stdint.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\S.*))')


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


def public_layer(header):
    return PUBLIC_HEADER_LAYER.get(header, "api")


def fault_upward(layer, target_layer, header):
    if LAYERS.index(target_layer) > LAYERS.index(layer):
        return f"L1: {layer} must not know {target_layer} ({header})"
    return None


def fault_in_source(layer, angled, quoted):
    """What is wrong with an include in src/<layer>, or None."""
    if quoted is not None:
        folder, _, rest = quoted.partition("/")
        if not rest or folder not in LAYERS:
            return f'L1: "{quoted}" must be written as "layer/file.hpp"'
        return fault_upward(layer, folder, quoted)
    if angled.startswith("remanence/"):
        return fault_upward(layer, public_layer(angled), angled)
    if is_standard(angled) or angled in COMPILER_HEADERS:
        return None
    if angled in THIRD_PARTY:
        owner = THIRD_PARTY[angled]
        return None if layer == owner else f"L3: <{angled}> is wrapped by src/{owner}"
    if layer == "capi" and angled in C_API_HEADERS:
        return None
    return None if layer == "os" else f"L2: <{angled}> is for src/os alone (C headers: use <c…>)"


def fault_in_public(header, layer, is_c, angled, quoted):
    """What is wrong with an include in include/, or None."""
    if quoted is not None:
        return f'L4: "{quoted}" must be written as <remanence/…>'
    if angled in OPT_IN:
        return f"L4: <{angled}> is for programs to include"
    if angled.startswith("remanence/"):
        return fault_upward(layer, public_layer(angled), angled)
    if header in OPT_IN and angled.startswith(OPT_IN[header]):
        return None
    if is_standard(angled) or angled in STANDARD_IN_DEBUG_MODE or (is_c and angled in C_API_HEADERS):
        return None
    return f"L4: <{angled}> is not of the C++ standard library"


def faults(repository):
    source, public = repository / "src", repository / "include"
    files = [p for top in (source, public) for p in sorted(top.rglob("*")) if p.suffix in {".cpp", ".hpp", ".h", ".c"}]
    for path in files:
        in_source = source in path.parents
        layer = path.relative_to(source).parts[0] if in_source else public_layer(str(path.relative_to(public)))
        if layer not in LAYERS:
            yield f"{path.relative_to(repository)}: not in the folder of a layer"
            continue
        for number, (angled, quoted, other) in includes(path):
            if other is not None:
                fault = f"cannot be checked: #include {other}"
            elif in_source:
                fault = fault_in_source(layer, angled, quoted)
            else:
                fault = fault_in_public(str(path.relative_to(public)), layer, path.suffix == ".h", angled, quoted)
            if fault:
                yield f"{path.relative_to(repository)}:{number}: {fault}"
    for path in sorted(p for p in [*files, *(repository / "tools").rglob("*.cpp")] if p.name != "descriptor.cpp"):
        for number, call in unguarded_opens(path):
            yield f"{path.relative_to(repository)}:{number}: L5: {call} may get descriptor 0, 1 or 2"


def main():
    found = list(faults(Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "every include is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
