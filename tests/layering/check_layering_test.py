"""Shows that check_layering finds each kind of violation, and passes what is allowed."""

import sys
import tempfile
from pathlib import Path

from check_layering import faults

LAYERS = {
    "src/CMakeLists.txt": "set(REMANENCE_LAYERS base os track store log view txn types api capi)",
    "src/base/CMakeLists.txt": "remanence_add_layer(base)",
    "src/os/CMakeLists.txt": "remanence_add_layer(os USES base)",
    "src/track/CMakeLists.txt": "remanence_add_layer(track USES base os)",
    "src/store/CMakeLists.txt": "remanence_add_layer(store USES base os)",
    "src/log/CMakeLists.txt": "remanence_add_layer(log USES base os store)",
    "src/view/CMakeLists.txt": "remanence_add_layer(view USES base track store)",
    "src/txn/CMakeLists.txt": "remanence_add_layer(txn USES base os store log view)",
    "src/types/CMakeLists.txt": "remanence_add_layer(types USES base txn)",
    "src/api/CMakeLists.txt": "remanence_add_layer(api USES base os txn types)",
    "src/capi/CMakeLists.txt": "remanence_add_layer(capi USES base api)",
    "src/base/rules.hpp": "//  A1  One.\n//  A2  Two. A1 is kept here.",
}

ALLOWED = {
    "src/base/a.cpp": '#include "base/a.hpp"\n#include <vector>\n#include <xxhash.h>\n#include <remanence/error.hpp>',
    "src/os/a.cpp": '#include "base/a.hpp"\n#include <sys/mman.h>\n#include <unistd.h>',
    "src/os/b.cpp": "int a = open_above_standard([] {\n return ::memfd_create(0, 0); });\nauto b = disk::open(a); // ::open()",
    "src/os/descriptor.cpp": "int a = ::open(path, 0);",
    "src/track/a.cpp": "#include <linux/userfaultfd.h>",
    "src/view/a.cpp": '#include "store/a.hpp"\n#include <immintrin.h>',
    "src/api/a.cpp": '#include <remanence/heap.hpp>\n#include "types/a.hpp"',
    "include/remanence/heap.hpp": "#include <remanence/error.hpp>\n#include <string>",
    "include/remanence/remanence.h": "#include <stdint.h>",
    "include/remanence/types/persistable.hpp": "#include <debug/safe_base.h>",
    "include/remanence/boost.hpp": "#include <remanence/heap.hpp>\n#include <boost/container/vector.hpp>",
}

FORBIDDEN = {
    "not_allowed": ("src/view/a.cpp", '#include "log/a.hpp"', "L1"),
    "list_missing": ("src/log/CMakeLists.txt", "", "L1"),
    "list_upward": ("src/log/CMakeLists.txt", "remanence_add_layer(log USES base os view)", "L1"),
    "list_in_no_order": ("src/CMakeLists.txt", "set(REMANENCE_LAYERS base os track store log view txn types api)", "L1"),
    "detail_of_types": ("include/remanence/types/detail/a.hpp", "#include <remanence/heap.hpp>", "L1"),
    "upward": ("src/base/a.cpp", '#include "os/file.hpp"', "L1"),
    "upward_with_spaces": ("src/log/a.hpp", '  #  include  "view/view.hpp"', "L1"),
    "no_layer": ("src/log/a.cpp", '#include "writer.hpp"', "L1"),
    "relative": ("src/log/a.cpp", '#include "../view/view.hpp"', "L1"),
    "public_from_below": ("src/store/a.cpp", "#include <remanence/heap.hpp>", "L1"),
    "system_call": ("src/store/a.cpp", "#include <sys/mman.h>", "L2"),
    "posix": ("src/api/a.hpp", "#include <unistd.h>", "L2"),
    "kernel": ("src/view/a.cpp", "#include <linux/userfaultfd.h>", "L2"),
    "threads": ("src/txn/a.cpp", "#include <pthread.h>", "L2"),
    "signals": ("src/view/a.cpp", "#include <signal.h>", "L2"),
    "wrapped": ("src/store/a.cpp", "#include <xxhash.h>", "L3"),
    "public_os": ("include/remanence/heap.hpp", "#include <fcntl.h>", "L4"),
    "public_third_party": ("include/remanence/detail/a.hpp", "#include <xxhash.h>", "L4"),
    "opt_in_third_party": ("include/remanence/boost.hpp", "#include <xxhash.h>", "L4"),
    "opt_in_from_public": ("include/remanence/containers/standard.hpp", "#include <remanence/boost.hpp>", "L4"),
    "boost_elsewhere": ("include/remanence/heap.hpp", "#include <boost/container/vector.hpp>", "L4"),
    "public_internal": ("include/remanence/heap.hpp", '#include "view/view.hpp"', "L4"),
    "public_upward": ("include/remanence/error.hpp", "#include <remanence/heap.hpp>", "L1"),
    "macro": ("src/log/a.cpp", "#include SOME_HEADER", "cannot be checked"),
    "open": ("src/os/a.cpp", "int a = open_above_standard(f);\nint b = ::open(path, 0);", "L5"),
    "userfaultfd": ("src/os/a.cpp", "::syscall(SYS_userfaultfd, 0);", "L5"),
    "stream": ("src/store/a.cpp", "std::ifstream in(path);", "L5"),
    "tool": ("tools/rem/a.cpp", "::dup(1);", "L5"),
    "tool_inside": ("tools/rem/a.cpp", '#include "store/heap_file.hpp"', "L6"),
    "rule_twice": ("src/view/c.cpp", "//  A1  Another.", "L7"),
    "unknown_folder": ("src/misc/a.cpp", "", "not in the folder of a layer"),
}


def faults_of(files):
    with tempfile.TemporaryDirectory() as name:
        for path, text in {**LAYERS, **files}.items():
            file = Path(name) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n", encoding="utf-8")
        return list(faults(Path(name)))


def main():
    wrong = [f"allowed, but reported: {fault}" for fault in faults_of(ALLOWED)]
    for name, (path, text, rule) in FORBIDDEN.items():
        found = faults_of({path: text})
        if len(found) != 1 or rule not in found[0]:
            wrong.append(f"{name}: expected one {rule}, got {found}")
    print("\n".join(wrong) if wrong else f"all {len(FORBIDDEN)} kinds of violation are found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
