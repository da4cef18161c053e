"""Each public name has a comment for the reference: what Doxygen finds in include/remanence, of which scripts/reference makes its pages.

A name has one if a comment stands at its declaration, or at an earlier overload. A comment is also about the declarations of C, and the
types of C++, that follow without a blank line. The comment of a class is about these members, too: copies, moves, comparisons, swap(),
the destructor, and what overrides; what the standard asks of containers and allocators, in a class that has a value_type; all members, if
its first sentence names a class of the standard, which this one is like; and each member that it names as code.

Left out: namespaces detail, specializations of templates (their comment is the template's), names that end with "_".
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

# Names without a comment of their own, and why.
EXCEPTIONS = {
    r"rem_status::REM_\w+": "docs/errors.md has each with its remedy: tests/docs/errors_test.py",
    r"REM_CAST": "for the header itself, in C and C++",
    r"is_transparent": "a tag that the standard looks for",
}
OF_CONVENTION = re.compile(r"operator(==|!=|<=>|<|>|<=|>=|=)|swap|~.*")
OF_CONTAINERS = set("""
    value_type key_type mapped_type allocator_type size_type difference_type reference const_reference pointer const_pointer iterator
    const_iterator reverse_iterator const_reverse_iterator key_compare value_compare hasher key_equal traits_type node_type insert_return_type
    begin end cbegin cend rbegin rend crbegin crend empty size max_size get_allocator
    propagate_on_container_copy_assignment propagate_on_container_move_assignment propagate_on_container_swap is_always_equal
    allocate deallocate select_on_container_copy_construction
    """.split())
AS_STANDARD = re.compile(r"[^.]*\bstd::\w+")


def reference():
    """scripts/reference, as a module."""
    loader = importlib.machinery.SourceFileLoader("reference", str(ROOT / "scripts" / "reference"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
    loader.exec_module(module)
    return module


def needs_no_comment(member):
    """Whether it is the default, copy or move constructor, a deleted function, or one that a base has and describes."""
    arguments = "".join(member.element.findtext("argsstring", "").split())
    if "=delete" in arguments or arguments.endswith("override"):
        return True
    name = re.escape(member.scope.name)
    return member.name == member.scope.name and re.match(rf"\((const{name}(<\w+>)?&\w*|{name}(<\w+>)?&&\w*)?\)", arguments) is not None


def is_about(scope, member):
    """Whether the comment of a class, or of an enumeration, is about a member that has none."""
    if not scope:
        return member.kind == "function" and OF_CONVENTION.fullmatch(member.name) is not None
    if not scope.described_by:
        return False
    if member.kind in ("function", "friend") and (needs_no_comment(member) or OF_CONVENTION.fullmatch(member.name)):
        return True
    if member.name in OF_CONTAINERS and any(each.name == "value_type" for each in scope.members):
        return True
    if member.kind in ("function", "friend", "typedef", "variable") and AS_STANDARD.match(scope.comment_text()):
        return True
    return any(re.search(rf"\b{re.escape(member.name)}\b", code) for code in scope.described_by.codes())


def without_comment(declarations):
    for each in declarations:
        is_exception = any(re.fullmatch(pattern, each.path) or re.fullmatch(pattern, each.name) for pattern in EXCEPTIONS)
        if not each.described_by and not is_about(each.scope, each) and not is_exception:
            yield each
        yield from without_comment(each.members)


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = reference()
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.warnings = cls.module.run_doxygen(pathlib.Path(directory.name))
        cls.headers = cls.module.read(pathlib.Path(directory.name))

    def test_doxygen_understands_the_headers(self):
        self.assertEqual(self.warnings, [])

    def test_knows_names_of_each_kind(self):
        """So that the next test means something."""
        def paths(declarations):
            return {(each.kind, each.path) for each in declarations} | {path for each in declarations for path in paths(each.members)}

        known = set().union(*(paths(each) for each in self.headers.values()))
        for name in (("class", "heap"), ("function", "heap::commit"), ("enumvalue", "errc::corrupt"), ("variable", "log_options::log_limit_bytes"),
                     ("define", "REM_REFLECT"), ("concept", "persistable"), ("typedef", "string"), ("function", "inspect::verify"),
                     ("function", "rem_open"), ("variable", "rem_options::chunk_bytes"), ("enumvalue", "rem_kind::REM_ARCHIVE"), ("define", "REM_NUMBER")):
            self.assertIn(name, known)
        for _, path in known:
            self.assertNotRegex(path, r"\bdetail::|_$")

    def test_has_a_comment_for_each_public_name(self):
        missing = {header: list(without_comment(found)) for header, found in self.headers.items()}
        lines = [f"include/{header}:{each.line}: {each.kind} {each.path}" for header, found in missing.items() for each in found]
        if lines:
            self.fail("\n".join([f"{len(lines)} public names have no comment:", *lines]))


if __name__ == "__main__":
    if shutil.which("doxygen") is None:
        print("skipped: doxygen is not installed (scripts/setup docs)")
        sys.exit(SKIPPED)
    repeating.main()
