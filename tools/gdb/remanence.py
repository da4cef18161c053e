"""Makes gdb show the contents of heaps and of Remanence's own containers.

Every program that links the library contains this script (src/api/library_mode.cpp), so that the script always knows the layouts of that
library. gdb can also read it by `source`. Containers of the standard library, rem::string among them, are shown by libstdc++'s printers.

The script knows layouts from these headers: containers/detail/{link,element_slot,btree_node,hash_table,packed_leaf}.hpp,
string_pi.hpp, vector_pi.hpp, heap_header.hpp, root_directory.hpp, and api/debugger_view.hpp. tests/gdb compares it with them.
"""

import struct

import gdb
import gdb.printing

NAMESPACE = "remanence::"
HEADER_MAGIC = b"HEADHEAP"
READ_MAX = 1 << 28  # bytes of one object; if gdb runs out of memory, it ends
MODULO = 1 << 64
WORD = 8


def read(address, count):
    if count > READ_MAX:
        raise gdb.MemoryError(f"cannot be {count} bytes long: not constructed yet, or overwritten")
    return bytes(gdb.selected_inferior().read_memory(address, count)) if count else b""


def word(address):
    return int.from_bytes(read(address, WORD), "little")


def linked(address):
    """Returns the target of the link at this address (link.hpp); 0 means that there is none."""
    distance = word(address)
    return (address + distance) % MODULO if distance else 0


def address_of(value):
    return int(value.address)


def at(address, kind):
    return gdb.Value(address).cast(kind.unqualified().pointer()).dereference()


def text_of(raw):
    return raw.decode("utf-8", "backslashreplace")


def shown(raw):
    """Returns the bytes as a value that gdb shows as an array of characters."""
    return gdb.Value(raw, gdb.lookup_type("char").array(len(raw) - 1)) if raw else '""'


def counted(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


class Slots:
    """Reads slots, which contain an element or a link to it (element_slot.hpp). Only the debug information tells which of the two."""

    def __init__(self, element, inline_bytes):
        self.element = element
        is_inline = self.ask(element, inline_bytes)
        self.bytes, self.alignment = (element.sizeof, element.alignof) if is_inline else (WORD, WORD)
        self.value = self.inline_value if is_inline else self.linked_value

    @staticmethod
    def ask(element, inline_bytes):
        for suffix in "", "ul", "UL":
            try:
                slot = gdb.lookup_type(f"{NAMESPACE}detail::element_slot<{element}, {inline_bytes}{suffix}>")
                return bool(gdb.parse_and_eval(f"'{slot}'::k_is_inline"))
            except gdb.error:
                continue
        raise gdb.GdbError(f"the program has no debug information about containers of {element}")

    def inline_value(self, address):
        return at(address, self.element)

    def linked_value(self, address):
        return at(linked(address), self.element)

    def behind(self, offset):
        """Returns the first offset, not below `offset`, that is aligned for slots."""
        return -(-offset // self.alignment) * self.alignment


def btree_elements(tree):
    """Yields the elements of a B-tree in their order, as gdb values."""
    element = tree.type.strip_typedefs().template_argument(1)
    slots = Slots(element, inline_bytes=256)
    first = slots.behind(16)

    def walk(node):
        count, capacity, height = struct.unpack("<HHH", read(node + WORD, 6))
        children = -(-(first + capacity * slots.bytes) // WORD) * WORD
        for index in range(count + 1):
            if height:
                yield from walk((node + word(node + children + index * WORD)) % MODULO)
            if index < count:
                yield slots.value(node + first + index * slots.bytes)

    root = linked(address_of(tree["root_"]))
    if root:
        yield from walk(root)


def hash_elements(table):
    element = table.type.strip_typedefs().template_argument(1)
    slots = Slots(element, inline_bytes=128)
    block = linked(address_of(table["block_"]))
    buckets = int(table["buckets_"])
    if not block:
        return
    group, group_slots, end = 16, 15, 2
    first = block + slots.behind(-(-buckets // group) * group)
    for start in range(0, buckets, group):
        for index, control in enumerate(read(block + start, min(group, buckets - start))[:group_slots]):
            if control > end:
                yield slots.value(first + (start // group * group_slots + index) * slots.bytes)


class Sequence:
    def __init__(self, value, kind):
        self.value, self.kind = value, kind

    def to_string(self):
        # A container in a heap refers to its heap, so some of its bytes are not zero. But gdb reads zeros where memory is missing in a
        # core.
        if not any(read(address_of(self.value), self.value.type.sizeof)):
            return f"{self.kind} that is empty, or whose heap is not in the core"
        return f"{self.kind} of {counted(self.size(), 'element')}"

    def children(self):
        for index, each in enumerate(self.elements()):
            yield f"[{index}]", each


class Tree(Sequence):
    def size(self):
        return int(self.value["tree_"]["size_"])

    def elements(self):
        return btree_elements(self.value["tree_"])


class Table(Sequence):
    def size(self):
        return int(self.value["table_"]["size_"])

    def elements(self):
        return hash_elements(self.value["table_"])


class Pairs:
    """Shows a map in the form that gdb has for maps."""

    def children(self):
        for index, each in enumerate(self.elements()):
            yield f"[{2 * index}]", each["first"]
            yield f"[{2 * index + 1}]", each["second"]

    @staticmethod
    def display_hint():
        return "map"


class TreeMap(Pairs, Tree):
    pass


class TableMap(Pairs, Table):
    pass


class VectorPi(Sequence):
    def size(self):
        return int(self.value["size_"])

    def elements(self):
        element = self.value.type.strip_typedefs().template_argument(0)
        first = linked(address_of(self.value["first_"]))
        return (at(first + index * element.sizeof, element) for index in range(self.size()))

    @staticmethod
    def display_hint():
        return "array"


def bytes_of_string(value):
    place = address_of(value["raw_"])
    raw = read(place, 3 * WORD)
    if raw[-1] & 0x80 == 0:
        return raw[: len(raw) - 1 - raw[-1]]  # the last byte is the number of unused ones among the others
    distance, size = struct.unpack("<QQ", raw[: 2 * WORD])
    return read((place + distance) % MODULO, size)


class StringPi:
    def __init__(self, value, _):
        self.value = value

    def to_string(self):
        return text_of(bytes_of_string(self.value))

    @staticmethod
    def display_hint():
        return "string"


class PackedMap(Pairs, Sequence):
    def size(self):
        return int(self.value["size_"])

    def elements(self):
        for leaf in btree_elements(self.value["tree_"]["tree_"]):
            block = leaf["second"]
            size = int(block["size_"])
            raw = read(linked(address_of(block["first_"])), size)
            (count,) = struct.unpack_from("<H", raw, 6)
            for index in range(count):
                (place,) = struct.unpack_from("<H", raw, size - 4 * (index + 1))
                yield self.record(raw, 8 + place)

    @staticmethod
    def record(raw, position):
        lengths = []
        while len(lengths) < 2:
            length = bits = 0
            while True:
                digit = raw[position]
                position += 1
                length |= (digit & 0x7F) << bits
                bits += 7
                if digit < 0x80:
                    break
            lengths.append(length)
        middle = position + lengths[0]
        return {"first": shown(raw[position:middle]), "second": shown(raw[middle : middle + lengths[1]])}


class Link:
    def __init__(self, value, _):
        self.value = value

    def to_string(self):
        target = self.value.type.strip_typedefs().template_argument(0)
        return str(gdb.Value(linked(address_of(self.value))).cast(target.pointer()))


class Fragile:
    def __init__(self, value, _):
        self.value = value

    def to_string(self):
        return "fragile element, stored as"

    def children(self):
        yield "bytes", self.value["bytes_"]


class Heap:
    """Shows a heap's path and roots, with the values of those roots whose types the program has under the same names."""

    def __init__(self, value, _):
        self.impl = word(address_of(value))  # the handle's only member, which clang's debug information omits
        self.path = self.base = None
        if self.impl:
            self.path = gdb.Value(word(self.impl)).cast(gdb.lookup_type("char").pointer()).string("utf-8", "backslashreplace")
            self.base = word(self.impl + WORD)
        self.listed = []
        self.is_here = self.base is not None and self.has_header()
        if self.is_here:
            self.listed = list(self.roots())

    def has_header(self):
        try:
            return read(self.base, len(HEADER_MAGIC)) == HEADER_MAGIC
        except gdb.MemoryError:
            return False

    def roots(self):
        directory = word(self.base + 16)
        if not directory:
            return
        count, _, table = struct.unpack("<QQQ", read(self.base + directory + 16, 24))
        for index in range(count):
            entry = self.base + word(self.base + table + WORD * index)
            (name_bytes, type_bytes) = struct.unpack("<II", read(entry + 36, 8))
            texts = read(entry + 48, name_bytes + type_bytes)
            yield text_of(texts[:name_bytes]), text_of(texts[name_bytes:]), self.base + word(entry)

    def to_string(self):
        if not self.impl:
            return "closed heap"
        if not self.is_here:
            return f'heap "{self.path}", which is not in the core: heap_options::memory.core_dump puts it there'
        return f'heap "{self.path}" at {self.base:#x} with {counted(len(self.listed), "root")}'

    def children(self):
        for name, kind, address in self.listed:
            try:
                yield name, at(address, gdb.lookup_type(kind))
            except gdb.error:
                yield name, f"{kind} at {address:#x}"


class FileBacked:
    def __init__(self, value, _):
        self.value = value

    def to_string(self):
        return "file_backed"

    def children(self):
        yield "file", self.value["file_"]
        if int(self.value["container_"]):
            yield "container", self.value["container_"].dereference()


PRINTERS = {
    "heap": Heap,
    "file_backed": FileBacked,
    "fragile": Fragile,
    "btree_map": TreeMap,
    "btree_multimap": TreeMap,
    "btree_set": Tree,
    "btree_multiset": Tree,
    "hash_map": TableMap,
    "hash_set": Table,
    "basic_packed_map": PackedMap,
    "basic_packed_multimap": PackedMap,
    "basic_string_pi": StringPi,
    "vector_pi": VectorPi,
    "detail::link": Link,
}


class Printers(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("remanence")

    def __call__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        name = value.type.strip_typedefs().tag
        if name is None or not name.startswith(NAMESPACE):
            return None
        kind = name[len(NAMESPACE) :].partition("<")[0]
        printer = PRINTERS.get(kind)
        return printer and printer(value, kind.removeprefix("basic_"))


gdb.printing.register_pretty_printer(None, Printers(), replace=True)
