"""A client of NNTP, and a server to try it on, for the demo and the tests. Uses the standard library only."""

import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

TIMEOUT = 60  # s; longer than any wait of the server


class Gone(Exception):
    """The server has closed the connection."""


class Client:
    """One connection. Lines are bytes, without their ends."""

    def __init__(self, port, address="127.0.0.1"):
        self.socket = socket.create_connection((address, port), TIMEOUT)
        self.file = self.socket.makefile("rb")
        self.greeting = self.line()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as reason:
            raise Gone(str(reason)) from None

    def line(self):
        try:
            line = self.file.readline()
        except OSError as reason:
            raise Gone(str(reason)) from None
        if not line.endswith(b"\r\n"):
            raise Gone("no whole line")
        return line[:-2].decode("utf-8", "surrogateescape")

    def ask(self, command):
        """Sends a command and returns the first line of the reply."""
        self.send(command.encode() + b"\r\n")
        return self.line()

    def block(self):
        """Returns the lines of a reply up to the single dot, as bytes with CRLF, without doubled dots."""
        lines = []
        while True:
            try:
                line = self.file.readline()
            except OSError as reason:
                raise Gone(str(reason)) from None
            if line == b".\r\n":
                return b"".join(lines)
            if not line.endswith(b"\r\n"):
                raise Gone("no whole line")
            lines.append(line[1:] if line.startswith(b"..") else line)

    def ask_block(self, command):
        """Sends a command; returns the first line of the reply, and the lines of its block as text."""
        status = self.ask(command)
        return status, self.block().decode("utf-8", "surrogateescape").splitlines()

    def post(self, text):
        """Posts an article, whose lines end with CRLF; returns the reply."""
        status = self.ask("POST")
        if not status.startswith("340"):
            return status
        self.send(stuffed(text) + b".\r\n")
        return self.line()


def stuffed(text):
    return b"".join(b"." + line if line.startswith(b".") else line for line in text.splitlines(keepends=True))


def article(groups, message_id=None, body=b"Hello.\r\n", subject="A test"):
    """Returns the text of an article."""
    fields = [f"From: A. Person <person@example.org>", f"Newsgroups: {groups}", f"Subject: {subject}"]
    if message_id:
        fields.append(f"Message-ID: {message_id}")
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + body


def children_of(pid):
    """Returns the numbers of a process's children that run."""
    try:
        return [int(each) for each in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Server:
    """A server of its own, on any free port."""

    def __init__(self, program, spool, *options, **of_process):
        self.program = str(program)
        self.spool = str(spool)
        self.options = options
        self.of_process = of_process
        self.process = None
        self.complaints = []

    def start(self):
        command = [self.program, "--spool", self.spool, "--port", "0", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **self.of_process)
        self.listener = threading.Thread(target=self._listen, args=(self.process.stderr,))
        self.listener.start()
        line = self.process.stdout.readline()
        if "listening" not in line:
            self.process.wait()
            self.listener.join()
            raise RuntimeError("the server did not start: " + "".join(self.complaints))
        self.port = int(line.split()[-1])
        return self

    def _listen(self, pipe):
        for line in pipe:
            self.complaints.append(line)

    def client(self):
        return Client(self.port)

    def children(self):
        return children_of(self.process.pid)

    def run(self, *words):
        """Runs the program on the same spool; returns the completed process."""
        return subprocess.run([self.program, "--spool", self.spool, *words], capture_output=True, text=True)

    def make_group(self, name, description="For tests"):
        done = self.run("--new-group", name, description)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def stop(self, how=signal.SIGTERM):
        """Ends the server; returns its exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait()
        self.process.stdout.close()
        self.listener.join(TIMEOUT)  # ends when the last child has ended
        self.process.stderr.close()
        self.process = None
        return status


def wait_until(condition, longest=TIMEOUT):
    """Waits until the condition holds, and returns whether it does."""
    end = time.monotonic() + longest
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def kill(pid):
    """Kills a process; it may have ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
