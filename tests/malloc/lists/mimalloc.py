"""mimalloc's test-api, each of its checks, and test-stress. What they call is malloc and its family: stand_in/mimalloc.c."""

import pathlib
import re

import tools

STAND_IN = pathlib.Path(__file__).resolve().parent / "stand_in/mimalloc.c"
# Threads, load and rounds: a third of the rounds that it does by default.
STRESS = ["32", "25", "16"]


class Suite:
    long_tests = ()

    def __init__(self, sources, folder, cc, _cxx):
        self.mimalloc = tools.fetch(sources, "mimalloc")
        self.folder = folder
        self.flags = [cc, *"-std=gnu11 -O1 -fno-builtin -w -D_GNU_SOURCE -pthread".split(), "-I", self.mimalloc / "include"]

    def known(self, _listed):
        checks = re.findall(r'\bCHECK(?:_BODY)?\("([^"]+)"', (self.mimalloc / "test/test-api.c").read_text())
        programs = [source.stem for source in self.mimalloc.glob("test/*.c*") if source.stem != "test-api"]
        return sorted({*(f"test-api/{check}" for check in checks), *programs})

    def prepare(self, _wanted):
        self.folder.mkdir(parents=True, exist_ok=True)
        test = self.mimalloc / "test"
        tools.build([*self.flags, test / "test-api.c", STAND_IN, "-o", self.folder / "test-api"], None, "compiling test-api")
        tools.build([*self.flags, "-DUSE_STD_MALLOC", test / "test-stress.c", "-o", self.folder / "test-stress"], None, "compiling test-stress")
        return {}

    def run(self, names, environment):
        done = tools.run([self.folder / "test-api"], environment)
        # A check ends with "ok." or with a line of its own that says FAILED; between may stand what it prints.
        parts = re.split(r"^test: (\S+)\.\.\.  ", done.output, flags=re.MULTILINE)[1:]
        found = {f"test-api/{name}": tools.Outcome(text.rstrip().endswith("ok."), text) for name, text in zip(parts[::2], parts[1::2])}
        if parts and "\nsucceeded: " in parts[-1]:
            last = f"test-api/{parts[-2]}"
            found[last] = tools.Outcome("FAILED" not in parts[-1] and "ok." in parts[-1], parts[-1])
        found["test-stress"] = tools.run([self.folder / "test-stress", *STRESS], environment)
        return {name: outcome for name, outcome in found.items() if name in names}
