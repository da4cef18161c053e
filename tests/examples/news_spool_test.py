"""Runs the news server of examples/news_spool and talks to it: news_spool_test.py NEWS_SPOOL [unittest options]."""

import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve()
EXAMPLE = HERE.parents[2] / "examples/news_spool"
sys.path[:0] = [str(HERE.parents[1] / "support"), str(EXAMPLE)]
import repeating  # noqa: E402
from client import Client, Gone, Server, article, children_of, wait_until  # noqa: E402

PROGRAM = ""


class NewsSpool(unittest.TestCase):
    OPTIONS = ()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.spool = pathlib.Path(directory.name) / "spool"
        self.clients = []
        self.server = self.started()
        self.server.make_group("test.a", "About a")
        self.server.make_group("test.b", "About b")

    def started(self, *options, **of_process):
        server = Server(PROGRAM, self.spool, *self.OPTIONS, *options, **of_process).start()
        self.addCleanup(server.stop)
        return server

    def client(self, server=None):
        client = (server or self.server).client()
        self.clients.append(client)
        self.addCleanup(client.close)
        self.assertTrue(client.greeting.startswith("200"), client.greeting)
        return client

    def posted(self, client, groups, message_id, body=b"Hello.\r\n", code="240"):
        reply = client.post(article(groups, message_id, body))
        self.assertTrue(reply.startswith(code), reply)
        return reply

    def verified(self):
        """Each file of the spool, which nobody has open, must be whole."""
        if "REM" in os.environ:
            for file in (self.spool / "spool.rem", *(self.spool / "groups").glob("*.rem")):
                done = subprocess.run([os.environ["REM"], "verify", str(file)], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Conversation(NewsSpool):
    """One command, one reply; in this order."""

    def test_replies_to_each_command_as_the_protocol_says(self):
        client = self.client()
        for number in (1, 2, 3):
            self.posted(client, "test.a", f"<{number}@x>")
        self.posted(client, "test.a,test.b", "<4@x>")
        for command, reply in (
            ("MODE READER", "200 "),
            ("mode reader", "200 "),
            ("ARTICLE", "412 "),
            ("OVER", "412 "),
            ("NEXT", "412 "),
            ("LISTGROUP", "412 "),
            ("GROUP test.none", "411 "),
            ("GROUP ../spool", "411 "),
            ("GROUP test.a", "211 4 1 4 test.a"),
            ("STAT", "223 1 <1@x>"),
            ("LAST", "422 "),
            ("NEXT", "223 2 <2@x>"),
            ("STAT 4", "223 4 <4@x>"),
            ("NEXT", "421 "),
            ("LAST", "223 3 <3@x>"),
            ("STAT 5", "423 "),
            ("STAT x", "501 "),
            ("STAT 99999999999999999999999", "501 "),
            ("STAT <2@x>", "223 0 <2@x>"),
            ("STAT", "223 3 <3@x>"),
            ("STAT <none@x>", "430 "),
            ("OVER 9-", "423 "),
            ("OVER 4-1", "423 "),
            ("OVER a-b", "501 "),
            ("HDR", "501 "),
            ("NEWGROUPS 20201301 000000", "501 "),
            ("LIST NOTHING", "501 "),
            ("MODE STREAM", "501 "),
            ("STAT 1 2", "501 "),
            ("XYZZY", "500 "),
            ("", "500 "),
            ("GROUP test.b", "211 1 1 1 test.b"),
            ("STAT", "223 1 <4@x>"),
        ):
            self.assertTrue(client.ask(command).startswith(reply), f"{command}: not {reply}")
        self.assertRegex(client.ask("DATE"), r"^111 \d{14}$")
        self.assertTrue(client.ask("QUIT").startswith("205 "))
        self.assertRaises(Gone, client.line)

    def test_replies_with_lists(self):
        client = self.client()
        self.posted(client, "test.a", "<1@x>")
        self.posted(client, "test.a", "<2@x>", b"one\r\ntwo\r\n")
        client.ask("GROUP test.a")
        for command, code, lines in (
            ("LIST", "215", ["test.a 2 1 y", "test.b 0 1 y"]),
            ("LIST ACTIVE *.b", "215", ["test.b 0 1 y"]),
            ("LIST NEWSGROUPS", "215", ["test.a\tAbout a", "test.b\tAbout b"]),
            ("NEWGROUPS 700101 000000 GMT", "231", ["test.a 2 1 y", "test.b 0 1 y"]),
            ("NEWGROUPS 20990101 000000", "231", []),
            ("LISTGROUP test.a", "211", ["1", "2"]),
            ("LISTGROUP test.a 2-", "211", ["2"]),
            ("HDR Subject 1-9", "225", ["1 A test", "2 A test"]),
            ("HDR :lines 2", "225", ["2 2"]),
            ("XHDR message-id 1-", "221", ["1 <1@x>", "2 <2@x>"]),
            ("HDR X-None <1@x>", "225", ["0 "]),
        ):
            status, found = client.ask_block(command)
            self.assertEqual((status[:3], found), (code, lines), command)
        status, overview = client.ask_block("OVER 2-2")
        fields = overview[0].split("\t")
        self.assertEqual((status[:3], len(overview), len(fields)), ("224", 1, 8))
        self.assertEqual(fields[:3] + fields[4:6], ["2", "A test", "A. Person <person@example.org>", "<2@x>", ""])
        self.assertEqual(client.ask_block("XOVER 2")[1], overview)
        self.assertEqual(client.ask_block("OVER <2@x>")[1], ["0" + overview[0][1:]])
        self.assertIn("READER", client.ask_block("CAPABILITIES")[1])
        self.assertIn("  POST ", client.ask_block("HELP")[1])
        formats = client.ask_block("LIST OVERVIEW.FMT")[1]
        self.assertEqual(formats, ["Subject:", "From:", "Date:", "Message-ID:", "References:", "Bytes:", "Lines:"])

    def test_gives_articles_back_as_they_were_posted(self):
        client = self.client()
        body = b".\r\n..\r\n.x\r\n\r\n\xe4\xff\r\n" + b"y" * 60_000 + b"\r\n"
        text = article("test.a", "<1@x>", body)
        self.assertTrue(client.post(text).startswith("240"))
        head = text[: -len(body) - 2]
        for command, code, end in (("ARTICLE", "220", text), ("HEAD", "221", head), ("BODY", "222", body)):
            self.assertTrue(client.ask(f"{command} <1@x>").startswith(code))
            found = client.block()
            self.assertTrue(found.endswith(end), command)
            if command == "BODY":
                self.assertEqual(found, body)
        reply = self.posted(client, "test.b", None)
        made = re.search("<.*>", reply).group()
        self.assertTrue(client.ask(f"HEAD {made}").startswith("221"))
        self.assertRegex(client.block(), rb"(?s)Path: .*Message-ID: .*Date: ")

    def test_takes_commands_that_come_at_once(self):
        client = self.client()
        client.send(b"MODE READER\r\nGROUP test.a\r\nDATE\nQUIT\r\n")
        self.assertEqual([client.line()[:3] for _ in range(4)], ["200", "211", "111", "205"])


class BadInput(NewsSpool):
    OPTIONS = ("--article-bytes-max", "100000")

    def tearDown(self):
        """Whatever a client did: the server goes on, and has no half of an article."""
        for client in self.clients:
            client.close()
        with self.server.client() as client:
            self.posted(client, "test.b", "<last@x>")
            self.assertTrue(client.ask("GROUP test.a").startswith("211 0 "))
        self.assertTrue(wait_until(lambda: not self.server.children()))
        self.assertEqual(self.server.stop(), 0)
        self.verified()

    def refused(self, text, reason, code="441"):
        client = self.client()
        reply = client.post(text)
        self.assertTrue(reply.startswith(code) and reason in reply, reply)
        self.assertTrue(client.ask("DATE").startswith("111"))  # nothing of the article was taken for a command

    def test_a_command_of_a_mebibyte_ends_the_connection(self):
        client = self.client()
        try:
            client.send(b"GROUP " + b"a" * (1 << 20))
        except Gone:
            pass
        try:
            self.assertTrue(client.line().startswith("500"))
        except Gone:
            pass  # the end of the connection has overtaken the reply, since we were still sending

    def test_a_command_that_is_a_little_too_long_ends_the_connection(self):
        client = self.client()
        self.assertTrue(client.ask("GROUP " + "a" * 504).startswith("411"))
        self.assertTrue(client.ask("GROUP " + "a" * 600).startswith("500"))
        self.assertRaises(Gone, client.line)

    def test_bytes_that_are_no_text(self):
        client = self.client()
        for line in (b"\0", b"GROUP \0", b"\xff\xfe\x80", b"GROUP test.a\0", b"\r"):
            client.send(line + b"\r\n")
            self.assertIn(client.line()[:3], ("500", "411"))

    def test_articles_without_required_fields(self):
        for field in (b"From", b"Subject", b"Newsgroups"):
            self.refused(re.sub(field + b": .*\r\n", b"", article("test.a", "<1@x>")), field.decode())
        self.refused(b"\r\nbody\r\n", "From")
        self.refused(b"", "")
        self.refused(b"no header\r\n", "not a field")
        self.refused(article("test.none", "<1@x>"), "no such group")
        self.refused(article("test.a,../x", "<1@x>"), "no group can have")
        self.refused(article("test.a", "no-id"), "Message-ID")
        self.refused(article(",".join(f"g{n}" for n in range(21)), "<1@x>"), "more than 20")

    def test_articles_with_nul_lone_cr_or_lone_lf(self):
        self.refused(article("test.a", "<1@x>", b"a\0b\r\n"), "NUL")
        self.refused(article("test.a", "<1@x>", b"a\rb\r\n"), "CR LF")
        self.refused(article("test.a", "<1@x>", b"a\nb\r\n"), "CR LF")
        self.refused(article("test.a", "<1@x>", b"a\n\x2e\nPOST\r\n"), "CR LF")  # no end of the article

    def test_articles_that_are_too_long(self):
        self.refused(article("test.a", "<1@x>", b"x" * 79 + b"\r\n" * 50_000), "too long")
        self.refused(article("test.a", "<1@x>", b"x" * 500_000 + b"\r\n"), "too long")
        self.refused(article("test.a", "<1@x>", (b"x" * 998 + b"\r\n") * 100), "too long")

    def test_an_article_without_end_ends_the_connection(self):
        client = self.client()
        client.ask("POST")
        try:
            for _ in range(100):
                client.send(b"x" * 100_000 + b"\r\n")
            self.assertTrue(client.line().startswith("400"))
        except Gone:
            pass  # as above

    def test_duplicates(self):
        client = self.client()
        self.posted(client, "test.b", "<1@x>")
        self.assertIn("Duplicate", self.posted(client, "test.b", "<1@x>", code="441"))
        self.assertIn("Duplicate", self.posted(client, "test.a", "<1@x>", code="441"))

    def test_clients_that_vanish_in_an_article(self):
        for text in (b"", b"From: x\r\n", article("test.a", "<1@x>"), article("test.a", "<1@x>") + b".\r"):
            client = self.client()
            client.ask("POST")
            client.send(text)
            client.close()

    def test_clients_that_vanish_while_they_are_sent_to(self):
        client = self.client()
        for number in range(40):
            self.posted(client, "test.b", f"<{number}@x>", b"x" * 79 + b"\r\n" * 1000)
        for _ in range(3):
            other = self.client()
            other.send(b"".join(b"ARTICLE <%d@x>\r\n" % number for number in range(40)) * 20)
            self.assertTrue(other.line().startswith("220"))
            other.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closed by a reset
            other.close()

    def test_clients_that_are_idle(self):
        self.server.stop()
        hasty = self.started("--idle-seconds", "1")
        client = self.client(hasty)
        self.assertTrue(client.line().startswith("400"))
        self.assertRaises(Gone, client.line)
        client = self.client(hasty)
        client.ask("POST")
        client.send(b"From: x\r\n")
        self.assertTrue(client.line().startswith("400"))
        hasty.stop()
        self.server.start()


class Administration(NewsSpool):
    def test_groups_come_and_go_while_clients_read(self):
        client = self.client()
        other = self.client()
        self.posted(client, "test.a,test.b", "<1@x>")
        client.ask("GROUP test.a")
        other.ask("GROUP test.a")
        done = self.server.run("--remove-group", "test.a")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(client.ask("ARTICLE 1").startswith("411"))
        self.assertTrue(client.ask("ARTICLE 1").startswith("412"))
        self.assertEqual(client.ask_block("LIST")[1], ["test.b 1 1 y"])
        self.posted(client, "test.a", "<2@x>", code="441")
        self.posted(client, "test.a,test.b", "<3@x>")
        self.server.make_group("test.a", "Anew")
        self.assertTrue(other.ask("NEXT").startswith("4"))  # there was an article, but in a group that is gone
        self.assertTrue(client.ask("GROUP test.a").startswith("211 0 1 0"))
        self.assertTrue(client.ask("STAT <1@x>").startswith("223"))
        for words, reason in (
            (("--new-group", "test.a", "again"), "already"),
            (("--remove-group", "test.none"), "no group"),
            (("--new-group", "../x", "outside"), "cannot be the name"),
            (("--new-group", "x", "two\nlines"), "one line"),
            (("--new-group", "x"), "description"),
            ((), "needed"),
            (("--port", "0"), "served by process"),
        ):
            done = self.server.run(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)

    def test_rules_of_expiry_are_read_at_a_signal(self):
        rules = self.spool / "expire.conf"
        rules.write_text("test.* 1 0 0 0\n")
        self.server.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: any("expire.conf, line 1" in each for each in self.server.complaints)))
        with self.client() as client:
            self.posted(client, "test.a", "<1@x>")
        rules.write_text("test.* 1\n")
        self.assertEqual(self.server.run("--expire").stdout, "0 articles expired\n")

    def test_one_client_too_many_is_told_so(self):
        self.server.stop()
        server = self.started("--clients-max", "2")
        first, _ = self.client(server), self.client(server)
        refused = Client(server.port)
        self.addCleanup(refused.close)
        self.assertTrue(refused.greeting.startswith("400"))
        first.ask("QUIT")
        self.assertTrue(wait_until(lambda: len(server.children()) < 2))
        self.client(server)

    def test_ends_when_told_to_and_goes_on_from_there(self):
        client = self.client()
        busy = self.client()
        self.posted(client, "test.a", "<1@x>")
        busy.ask("POST")
        busy.send(article("test.a", "<2@x>"))
        stopping = threading.Thread(target=self.server.stop)
        stopping.start()
        self.assertTrue(client.line().startswith("400"))
        busy.send(b".\r\n")
        self.assertTrue(busy.line().startswith("240"))  # a command that runs is not cut off
        self.assertTrue(busy.line().startswith("400"))
        stopping.join()
        self.verified()
        self.server.start()
        client = self.client()
        self.assertTrue(client.ask("GROUP test.a").startswith("211 2 1 2 "))

    def test_tells_systemd_that_it_is_ready(self):
        self.server.stop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(60)
            manager.bind(str(self.spool.parent / "notify"))
            server = self.started(env={**os.environ, "NOTIFY_SOCKET": str(self.spool.parent / "notify")})
            self.assertEqual(manager.recv(100), b"READY=1")
            server.stop()
            self.assertEqual(manager.recv(100), b"STOPPING=1")


class Failures(NewsSpool):
    LIMIT = 3 << 20

    def test_a_full_disk_costs_no_article(self):
        """A limit of file sizes stands for the full disk: the same error, and nobody needs to be root."""
        self.server.stop()
        server = self.started(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (self.LIMIT, resource.RLIM_INFINITY)))
        client = self.client(server)
        acknowledged = []
        reply = "240"
        while reply.startswith("240"):
            name = f"<{len(acknowledged)}@x>"
            reply = client.post(article("test.a,test.b", name, (b"x" * 70 + b"\r\n") * 1000))
            acknowledged.append(name)
            self.assertLess(len(acknowledged), 200)
        self.assertTrue(reply.startswith("441"), reply)
        failed = acknowledged.pop()
        self.assertGreater(len(acknowledged), 5)
        for each in acknowledged:
            self.assertTrue(client.ask(f"STAT {each}").startswith("223"), each)
        self.assertTrue(client.ask(f"STAT {failed}").startswith("430"))
        client.close()
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        client = self.client(server)
        self.posted(client, "test.a,test.b", failed)
        for group in ("test.a", "test.b"):
            self.assertTrue(client.ask(f"GROUP {group}").startswith(f"211 {len(acknowledged) + 1} "))
        client.close()
        self.assertEqual(server.stop(), 0)
        self.verified()

    def test_a_process_that_is_killed_takes_no_other_along(self):
        client, other = self.client(), self.client()
        client.ask("POST")
        other.ask("POST")
        for each in children_of(self.server.process.pid):
            os.kill(each, signal.SIGSTOP)
        victim = self.server.children()[0]
        os.kill(victim, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: victim not in self.server.children()))
        for each in self.server.children():
            os.kill(each, signal.SIGCONT)
        self.posted(self.client(), "test.a", "<1@x>")


class Storm(unittest.TestCase):
    KILLS = int(os.environ.get("NEWS_SPOOL_KILLS", "20"))

    def test_nothing_acknowledged_is_lost_by_kills(self):
        with tempfile.TemporaryDirectory() as directory:
            words = ["--kills", str(self.KILLS), "--seed", str(repeating.SEED), "--spool", directory + "/spool"]
            done = subprocess.run([sys.executable, "-B", str(EXAMPLE / "demo.py"), PROGRAM, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertRegex(done.stdout, rf"(?m)^  kills +{self.KILLS:,} ")
            self.assertRegex(done.stdout, r"(?m)^  lost +0$")
            print(f"{self.KILLS} kills of a news server")
            if "REM" in os.environ:
                for file in pathlib.Path(directory).rglob("*.rem"):
                    done = subprocess.run([os.environ["REM"], "verify", str(file)], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    repeating.main(words=1)
