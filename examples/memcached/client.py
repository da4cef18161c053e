"""A client of memcached that knows what it stored: client.py NAME PORT SEED.

Reads commands, one a line, and answers each with a line of JSON:
  fill    stores each of its keys once
  load    gets, stores and deletes keys until the server is gone
  check   compares all that the server has with what this client did

Its changes are numbered, and each value has the number of the change that stored it. A restored server shows one moment of each client: then some
changes, up to one number, are all there, and the later ones are not. Keys that the server evicted may be missing.
"""

import json
import random
import socket
import sys
import time

KEYS = 30_000
BATCH = 40


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, text):
        self.socket.sendall(text)

    def line(self):
        text = self.file.readline()
        if not text.endswith(b"\r\n"):
            raise ConnectionResetError
        return text

    def values(self):
        """Of an answer to get: key and bytes of each."""
        while (line := self.line()) != b"END\r\n":
            _, key, _, size = line.split()
            value = self.file.read(int(size) + 2)
            if len(value) != int(size) + 2:
                raise ConnectionResetError
            yield key, value[:-2]


class Client:
    def __init__(self, name, port, seed):
        self.name = name
        self.port = port
        self.choose = random.Random(seed)
        self.changes = 0  # sent
        self.acknowledged = 0
        self.times = []  # number and time of the last change of each batch that was acknowledged
        self.state = {}  # key: the change that stored it, as of the last check
        self.since = {}  # key: changes since then, a negative number for one that deleted it

    def key(self, number):
        return b"%s%d" % (self.name, number)

    def value(self, key, change):
        text = b"%s %d " % (key, change)
        return text * (1 + change % 29 * 40 // len(text)) + b"x" * (change % 17)

    def picked(self):
        return self.key(int(KEYS * self.choose.random() ** 3))

    def change(self, key, is_deletion):
        self.changes += 1
        self.since.setdefault(key, []).append(-self.changes if is_deletion else self.changes)
        if is_deletion:
            return b"delete %s\r\n" % key
        value = self.value(key, self.changes)
        return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)

    def acknowledge(self):
        self.acknowledged = self.changes
        self.times.append((self.changes, time.monotonic()))

    def fill(self):
        to = Connection(self.port)
        for begin in range(0, KEYS, BATCH):
            to.send(b"".join(self.change(self.key(number), False) for number in range(begin, begin + BATCH)))
            for _ in range(BATCH):
                if to.line() != b"STORED\r\n":
                    raise SystemExit("the server did not store a value")
            self.acknowledge()
        return {"operations": KEYS}

    def load(self):
        operations, gets, hits = 0, 0, 0
        begin = time.monotonic()
        self.times = self.times[-1:]
        try:
            to = Connection(self.port)
            while True:
                asked, kinds = [], []
                for _ in range(BATCH):
                    key, kind = self.picked(), self.choose.random()
                    kinds.append(kind < 0.6)
                    asked.append(b"get %s\r\n" % key if kind < 0.6 else self.change(key, kind > 0.96))
                to.send(b"".join(asked))
                for is_get in kinds:
                    if is_get:
                        gets += 1
                        hits += len(list(to.values()))
                    else:
                        to.line()
                operations += BATCH
                self.acknowledge()
        except OSError:
            pass
        return {"operations": operations, "gets": gets, "hits": hits, "seconds": time.monotonic() - begin}

    def found(self, to):
        """The number of the change that stored each key which is there."""
        numbers = {}
        for begin in range(0, KEYS, 100):
            to.send(b"get " + b" ".join(self.key(number) for number in range(begin, begin + 100)) + b"\r\n")
            for key, value in to.values():
                numbers[key] = int(value.split()[1])
                if value != self.value(key, numbers[key]):
                    raise SystemExit(f"the value of {key} is wrong")
        return numbers

    def check(self):
        to = Connection(self.port)
        picked = [self.picked() for _ in range(5000)]
        found = self.found(to)
        cut = max(found.values(), default=0)
        wrong = []
        if cut > self.changes:
            wrong.append(f"change {cut} was never made")
        for number in range(KEYS):
            key = self.key(number)
            before = [self.state[key]] if key in self.state else []
            before += [change for change in self.since.get(key, ()) if abs(change) <= cut]
            last = before[-1] if before else None
            if key in found and found[key] != last:
                wrong.append(f"{key.decode()} is of change {found[key]}, but change {last} is there or lost by itself (all up to {cut} are there)")
        at = [when for change, when in self.times if change >= cut]
        lost = {"changes": max(0, self.acknowledged - cut), "seconds": at[-1] - at[0] if at else 0}
        self.state, self.since = found, {}
        return {"found": len(found), "wrong": wrong[:5], "lost": lost, "rate": sum(key in found for key in picked) / len(picked)}


def main():
    client = Client(sys.argv[1].encode(), int(sys.argv[2]), int(sys.argv[3]))
    for line in sys.stdin:
        answer = {"fill": client.fill, "load": client.load, "check": client.check}[line.strip()]()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
