"""Units of redis's tests, which start servers on the loopback interface: redis is compiled to use the malloc of the C library."""

import re
import shutil

import tools

# Servers take free ports of these; redis's configuration for tests binds 127.0.0.1.
PORTS = ["--baseport", "24100", "--portcount", "900"]


class Suite:
    long_tests = ("*",)

    def __init__(self, sources, folder, cc, _cxx):
        self.sources = tools.fetch(sources, "redis")
        self.redis = folder / self.sources.name
        self.cc = cc

    def known(self, _listed):
        tests = self.redis / "tests"
        return sorted(str(each.relative_to(tests).with_suffix("")) for each in tests.glob("unit/**/*.tcl"))

    def prepare(self, _wanted):
        if not self.redis.exists():
            shutil.copytree(self.sources, self.redis, symlinks=True)
        options = ["MALLOC=libc", f"CC={self.cc}", "OPTIMIZATION=-O1", "BUILD_TLS=no", "USE_SYSTEMD=no"]
        tools.build(["make", "-s", "-j1", *options], self.redis, "building redis")
        return {}

    def run(self, names, environment):
        found = {}
        options = ["--clients", "1", "--tags", "-slow", *PORTS]
        for name in names:
            done = tools.run(["./runtest", *options, "--single", name], environment, self.redis)
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.output)  # without colours
            passed = done.passed and "[ok]:" in said and "All tests passed without errors" in said
            found[name] = tools.Outcome(passed, said)
        return found
