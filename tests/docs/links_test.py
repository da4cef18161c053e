"""Each relative link of a page leads to a file that is there, and to a heading in it if it names one."""

import itertools
import pathlib
import re
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402
from pages import without_fences  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)


def pages():
    """All of the repository's, not of its builds or of hidden directories."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for directory in ("bench", "docs", "examples", "include", "src", "testing", "tests", "tools"):
        found += (ROOT / directory).rglob("*.md")
    return sorted(found)


def anchors(text):
    """Of the headings, as GitHub makes them: of equal ones the second ends with -1, and so on."""
    result = set()
    for heading in HEADING.findall(without_fences(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        again = itertools.chain([slug], (f"{slug}-{number}" for number in itertools.count(1)))
        result.add(next(name for name in again if name not in result))
    return result


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        found = 0
        for page in pages():
            for link in LINK.findall(CODE.sub("", without_fences(page.read_text()))):
                target = urllib.parse.urlsplit(link)
                if target.scheme:
                    continue
                found += 1
                with self.subTest(page=str(page.relative_to(ROOT)), link=link):
                    file = page.parent / urllib.parse.unquote(target.path) if target.path else page
                    self.assertTrue(file.exists(), "no such file")
                    if target.fragment:
                        self.assertIn(target.fragment, anchors(file.read_text()), "no such heading")
        self.assertGreater(found, 0)


if __name__ == "__main__":
    repeating.main()
