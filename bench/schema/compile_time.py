"""Compiles 100 structs of ten members as roots, and prints the processor's seconds; what the description of types takes of them.

compile_time.py INCLUDE... [--runs N]: each folder of headers is tried with g++ and clang++-19, in turn; medians. A translation unit that only
includes the headers is compiled, too, so that the rest is what 100 structs take.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

MEMBERS = ["int a", "double b", "rem::string c", "rem::vector<int> d", "std::uint64_t e[4]", "float f", "bool g", "char h[16]"]


def source(structs):
    text = ["#include <remanence/remanence.hpp>", "#include <cstdint>", "namespace rem = remanence;", "namespace app {"]
    for i in range(structs):
        previous = f"s{i - 1}* i" if i else "int i"
        text.append(f"struct s{i} {{ {'; '.join(MEMBERS)}; {previous}; std::int64_t j{i}; }};")
    text.append("}\nvoid use(rem::heap& heap) {\n    static_cast<void>(heap);")
    text += [f'    heap.root<app::s{i}>("s{i}");' for i in range(structs)]
    return "\n".join(text) + "\n}\n"


def seconds(compiler, include, file):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([compiler, "-std=c++20", "-O0", "-c", "-I", include, file, "-o", os.devnull], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    words = sys.argv[1:]
    runs = int(words[words.index("--runs") + 1]) if "--runs" in words else 3
    folders = words[: words.index("--runs")] if "--runs" in words else words
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        for structs in (0, 100):
            file = os.path.join(directory, f"{structs}.cpp")
            with open(file, "w") as out:
                out.write(source(structs))
            for _ in range(runs):
                for include in folders:
                    for compiler in ("g++", "clang++-19"):
                        found.setdefault((compiler, include, structs), []).append(seconds(compiler, include, file))
    for compiler in ("g++", "clang++-19"):
        for include in folders:
            alone, whole = (statistics.median(found[compiler, include, structs]) for structs in (0, 100))
            print(f"{compiler} {include}: headers {alone:.2f} s, 100 structs {whole - alone:.2f} s, all {whole:.2f} s")


if __name__ == "__main__":
    main()
