"""jemalloc's tests that need no insides of it. What they call beyond the standard's functions is stand_in/jemalloc.c."""

import pathlib

import tools

STAND_IN = pathlib.Path(__file__).resolve().parent / "stand_in/jemalloc.c"
FLAGS = "-O1 -fno-builtin -w -D_GNU_SOURCE -D_REENTRANT -pthread".split()


class Suite:
    long_tests = ()

    def __init__(self, sources, folder, cc, cxx):
        self.jemalloc = tools.fetch(sources, "jemalloc")
        self.folder = folder
        made = folder / "configured"
        includes = [word for each in ("include", "test/include") for top in (made, self.jemalloc) for word in ("-I", top / each)]
        self.flags = [*FLAGS, *includes]
        self.compilers = {".c": [cc, "-std=gnu11", "-DJEMALLOC_INTEGRATION_TEST"], ".cpp": [cxx, "-DJEMALLOC_INTEGRATION_CPP_TEST"]}

    def known(self, _listed):
        test = self.jemalloc / "test"
        return sorted(str(source.relative_to(test).with_suffix("")) for kind in ("unit", "integration", "stress", "analyze")
                      for source in test.rglob(f"{kind}/**/*.c*"))  # fmt: skip

    def prepare(self, wanted):
        made = self.folder / "configured"
        if not (made / "Makefile").exists():
            made.mkdir(parents=True, exist_ok=True)
            tools.build([self.jemalloc / "configure", "--disable-cxx"], made, "jemalloc's configure")
            # Names that its library keeps to itself; it is not there.
            (made / "include/jemalloc/internal/private_namespace.h").touch()
        objects = self.folder / "objects"
        objects.mkdir(exist_ok=True)
        (self.folder / "bin").mkdir(exist_ok=True)
        shared = [*self.jemalloc.glob("test/src/*.c"), *(self.jemalloc / f"src/{name}.c" for name in ("malloc_io", "nstime", "test_hooks"))]
        tools.build([*self.compilers[".c"], *self.flags, "-c", STAND_IN, *shared], objects, "compiling jemalloc's test library")
        errors = {}
        for name in wanted:
            source = next((self.jemalloc / "test").glob(f"{name}.c*"), pathlib.Path(f"{name}.c"))
            compiler = self.compilers[source.suffix]
            error = tools.compile_error([*compiler, *self.flags, source, *objects.glob("*.o"), "-lm", "-o", self.program(name)])
            if error:
                errors[name] = error
                self.program(name).unlink(missing_ok=True)
        return errors

    def program(self, name):
        return self.folder / "bin" / name.replace("/", "_")

    def run(self, names, environment):
        """Each says at the end how many of its parts passed, were skipped and failed."""
        found = {}
        for name in names:
            if self.program(name).exists():
                done = tools.run([self.program(name)], environment)
                found[name] = tools.Outcome(done.passed and ", skip: 0/" in done.output and "--- pass: 0/" not in done.output, done.output)
        return found
