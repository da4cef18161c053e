"""docs/errors.md has a row for each code of remanence::errc and of rem_status, in the order of the headers, with the number it has there."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def listing(header, beginning):
    """The numbers and names of an enumeration, in its order."""
    text = (ROOT / "include/remanence" / header).read_text().partition(beginning)[2].partition("};" if "errc" in beginning else "} rem_status;")[0]
    return [(int(number), name) for name, number in re.findall(r"^ +(\w+)\s*=\s*(\d+)", text, re.MULTILINE)]


class Errors(unittest.TestCase):
    def setUp(self):
        rows = re.findall(r"^\| (\d+) `(\w+)` \| (.*) \| (.*) \|$", (ROOT / "docs/errors.md").read_text(), re.MULTILINE)
        self.rows = [((int(number), name), cells) for number, name, *cells in rows]

    def test_are_those_of_both_headers_in_their_order(self):
        cpp = listing("error.hpp", "enum class errc")
        c = [code for code in listing("remanence.h", "typedef enum rem_status") if code != (0, "REM_OK")]
        self.assertGreater(len(cpp), 0)
        self.assertEqual(c[:len(cpp)], [(number, "REM_" + name.upper()) for number, name in cpp])
        self.assertEqual([code for code, _ in self.rows], cpp + c[len(cpp):])

    def test_have_a_meaning_and_a_remedy(self):
        for code, cells in self.rows:
            for cell in cells:
                with self.subTest(code=code, cell=cell):
                    self.assertTrue(cell.strip())


if __name__ == "__main__":
    repeating.main()
