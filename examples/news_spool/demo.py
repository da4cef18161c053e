"""Kills the processes of a news server while clients post and read: demo.py NEWS_SPOOL [--kills N] [--clients N] [--seed N] [--spool DIR].

Each client posts articles, some of them to several groups, and reads what others have posted. Meanwhile processes of the server are killed with
signal 9; each 20th kill hits the server itself, which is started again. A client whose connection breaks connects again, and posts the same
article once more until the server tells whether it has it. At the end a new connection reads every article that was acknowledged by 240, and each
group is checked: no article may be there twice, or in only some of its groups. The exit status is not zero if anything is wrong.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading
import time

import client

GROUPS = [f"demo.{name}" for name in ("art", "books", "chess", "dance", "food", "games")]
SERVER_KILL = 20  # each kill of this number hits the server itself
DISTURBANCES = ("cannot mend", "is not posted", "is not settled", "cannot take back")


class Failed(SystemExit):
    def __init__(self, text):
        super().__init__("FAILED: " + text)


class Storm:
    """What the clients share. `lock` guards all that follows it."""

    def __init__(self, server, kills, seed):
        self.server = server
        self.kills = kills
        self.seed = seed
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.known = {}  # message-id to the text, for articles that the server has said to have
        self.counts = collections.Counter()
        self.problems = []

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def problem(self, text):
        with self.lock:
            self.problems.append(text)
        self.ended.set()


class Poster(threading.Thread):
    def __init__(self, storm, number):
        super().__init__()
        self.storm = storm
        self.number = number
        self.random = random.Random(f"{storm.seed} client {number}")
        self.connection = None

    def run(self):
        try:
            posted = 0
            while not self.storm.ended.is_set():
                self.post(posted)
                posted += 1
                for _ in range(2):
                    self.try_once(self.read)
        except Exception as reason:  # pylint: disable=broad-except
            self.storm.problem(f"client {self.number}: {reason!r}")
        finally:
            if self.connection is not None:
                self.connection.close()

    def connected(self):
        if self.connection is None:
            self.connection = client.Client(self.storm.server.port)
            if not self.connection.greeting.startswith("200"):
                raise client.Gone(self.connection.greeting)
        return self.connection

    def try_once(self, act, *arguments):
        """Returns what `act` does, or None if the connection broke; the next call connects again."""
        try:
            return act(self.connected(), *arguments)
        except (client.Gone, OSError):
            self.storm.count("broken")
            if self.connection is not None:
                self.connection.close()
                self.connection = None
            time.sleep(0.002)
            return None

    def text(self, message_id):
        groups = self.random.sample(GROUPS, self.random.choice((1, 1, 1, 2, 3)))
        lines = self.random.choice((1, 5, 20, 400))
        body = "".join(self.random.choice(("", ".", "..", "> ")) + f"line {each} of {message_id}\r\n" for each in range(lines))
        return client.article(",".join(groups), message_id, body.encode())

    def post(self, number):
        """Posts one article until the server says that it has it."""
        message_id = f"<{number}.{self.number}@demo.example>"
        text = self.text(message_id)
        self.storm.count("posted")
        while True:
            reply = self.try_once(client.Client.post, text)
            if reply is None or reply.startswith("400"):
                continue
            is_acknowledged = reply.startswith("240")
            if is_acknowledged or "Duplicate" in reply:
                with self.storm.lock:
                    self.storm.counts["acknowledged" if is_acknowledged else "found there"] += 1
                    self.storm.known[message_id] = text
                return
            if "try again" not in reply and "taken back" not in reply:
                raise RuntimeError(f"{message_id}: {reply}")

    def read(self, connection):
        with self.storm.lock:
            if not self.storm.known:
                return
            message_id = self.random.choice(list(self.storm.known)[-1000:])
            text = self.storm.known[message_id]
        status = connection.ask(f"ARTICLE {message_id}")
        if status.startswith("40"):  # the server ends, or the spool is busy
            raise client.Gone(status)
        if not status.startswith("220"):
            raise RuntimeError(f"{message_id}, which was posted: {status}")
        if not connection.block().endswith(text):
            raise RuntimeError(f"{message_id} has another text")
        self.storm.count("read")


class Killer:
    """Kills processes of the server, and no others."""

    def __init__(self, storm, every):
        self.storm = storm
        self.every = every
        self.random = random.Random(f"{storm.seed} killer")

    def run(self):
        kills = 0
        while kills < self.storm.kills and not self.storm.ended.is_set():
            time.sleep(self.random.uniform(0.5, 1.5) * self.every)
            if (kills + 1) % SERVER_KILL == 0:
                self.kill_server()
            elif not self.kill_child():
                continue
            kills += 1
            self.storm.count("kills")

    def kill_child(self):
        children = self.storm.server.children()
        if not children:
            return False
        chosen = self.random.choice(children)
        try:
            descriptor = os.pidfd_open(chosen)
        except ProcessLookupError:
            return False
        try:
            if chosen not in self.storm.server.children():  # the number could be another process's by now
                return False
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)

    def kill_server(self):
        self.storm.server.stop(signal.SIGKILL)
        self.storm.server.start()
        self.storm.count("restarts")


def groups_as_found(connection):
    """Returns, for each group, the message-ids in its overview."""
    found = {}
    for group in GROUPS:
        if not connection.ask(f"GROUP {group}").startswith("211"):
            raise Failed(f"{group} is gone")
        status = connection.ask("OVER 1-")
        lines = connection.block().decode().splitlines() if status.startswith("224") else []
        found[group] = [line.split("\t")[4] for line in lines]
        if connection.ask(f"LISTGROUP {group}").startswith("211") and len(connection.block().split()) != len(lines):
            raise Failed(f"{group}: OVER and LISTGROUP differ")
    return found


def places_of(found):
    places = collections.defaultdict(list)
    for group, message_ids in found.items():
        for each in message_ids:
            places[each].append(group)
    return places


def check_groups(connection, places):
    """Returns what is wrong: articles that a group has twice, or that are in only some of their groups."""
    problems = []
    for message_id, groups in places.items():
        if not connection.ask(f"HEAD {message_id}").startswith("221"):
            problems.append(f"{message_id} is in {groups}, but not to be had")
            continue
        named = re.search(rb"^Newsgroups: (.*)\r$", connection.block(), re.M).group(1).decode()
        if sorted(named.split(",")) != sorted(groups):
            problems.append(f"{message_id} of {named} is in {groups}")
    return problems


def check(storm):
    """Reads everything by a new connection. Returns how many articles are lost."""
    lost = 0
    with storm.server.client() as connection:
        # The server mends what killed processes have left, as soon as it has noticed that they ended.
        problems = ["not yet"]
        end = time.monotonic() + client.TIMEOUT
        while problems and time.monotonic() < end:
            places = places_of(groups_as_found(connection))
            problems = check_groups(connection, places)
        storm.problems += problems
        for message_id, text in storm.known.items():
            is_there = connection.ask(f"ARTICLE {message_id}").startswith("220")
            if not is_there or not connection.block().endswith(text) or message_id not in places:
                lost += 1
                storm.problems.append(f"{message_id} is lost")
    return lost


def report(storm, lost):
    counts = storm.counts
    rows = [
        ("kills", counts["kills"], f"with {counts['restarts']} of the server itself; {counts['broken']} connections broke"),
        ("posted", counts["posted"], "articles"),
        ("acknowledged", counts["acknowledged"], "by 240"),
        ("found there", counts["found there"], "when they were posted again after a kill"),
        ("read", counts["read"], "meanwhile, and compared"),
        ("read at the end", len(storm.known), "by a new connection, and compared"),
        ("lost", lost, ""),
    ]
    for name, number, remark in rows:
        print(f"  {name:<16}{number:>9,}  {remark}".rstrip())


def storm_over(server, chosen):
    for group in GROUPS:
        server.make_group(group)
    storm = Storm(server, chosen.kills, chosen.seed)
    posters = [Poster(storm, number) for number in range(chosen.clients)]
    for each in posters:
        each.start()
    try:
        Killer(storm, chosen.every / 1000).run()
    finally:
        storm.ended.set()
        for each in posters:
            each.join()
    lost = check(storm)
    report(storm, lost)
    status = server.stop()
    if status != 0:
        storm.problems.append(f"the server ended with {status}")
    storm.problems += [f"the server said: {line.strip()}" for line in server.complaints if any(each in line for each in DISTURBANCES)]
    if storm.problems:
        raise Failed("; ".join(storm.problems[:5]))
    print("\nNothing acknowledged was lost, and no article is there twice or by halves.")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("news_spool", type=pathlib.Path)
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--clients", type=int, default=8)
    arguments.add_argument("--every", type=int, default=50, help="milliseconds between kills")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments.add_argument("--spool", type=pathlib.Path, help="where the spool is to be kept; else it is removed at the end")
    chosen = arguments.parse_args()
    print(f"{chosen.clients} clients post and read, while processes of the server are killed (seed {chosen.seed}).\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = client.Server(chosen.news_spool, chosen.spool or pathlib.Path(folder) / "spool").start()
        try:
            storm_over(server, chosen)
        finally:
            server.stop()
    sys.exit(0)


if __name__ == "__main__":
    main()
