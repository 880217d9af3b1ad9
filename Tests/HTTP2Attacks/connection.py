"""One HTTP/2 connection, frame by frame, of a server that follows no rules unless a script says so."""

import struct
import time

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 1, 2, 7, 8
ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 11, 13

# The duration of a flood, if nothing ends the connection.
LONGEST = 20


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def number(value):
    return struct.pack(">I", value)


class Arrivals:
    """The requests of an attack that have arrived, over all connections. One that arrives twice is noted in a file."""

    def __init__(self, file):
        self.file = file
        self.tokens = set()

    def note(self, path):
        """Notes a request, and returns its token."""
        token = int(path.lstrip("/"))
        if token in self.tokens:
            with open(self.file, "a") as file:
                file.write(f"{token} ")
        self.tokens.add(token)
        return token

    def forget(self, request):
        """The client learns that the request was not processed, and may repeat it."""
        self.tokens.discard(request.token)


def body(token):
    return b'{"id": %d}' % token


class Request:
    def __init__(self, stream, method, token):
        self.stream = stream
        self.method = method
        self.token = token
        self.body = body(token)


class Connection:
    def __init__(self, socket, arrivals, index):
        self.socket = socket
        self.arrivals = arrivals
        # The index of this connection among those of its attack, from 0.
        self.index = index
        self.decoder = hpack.Decoder()
        self.encoder = hpack.Encoder()
        self.buffer = b""
        self.reads_bodies = True

    def read(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.buffer += more
        result, self.buffer = self.buffer[:count], self.buffer[count:]
        return result

    def begin(self, settings=b""):
        if self.read(len(PREFACE)) != PREFACE:
            raise EOFError
        self.send(frame(SETTINGS, payload=settings))

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def flood(self, frames):
        """Sends the same bytes over and over."""
        many = frames * max(1, 60_000 // len(frames))
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self.socket.sendall(many)

    def freeze(self):
        """Reads nothing and sends nothing."""
        time.sleep(LONGEST)

    def requests(self):
        """Yields the requests as their heads arrive, and responds to other frames correctly."""
        while True:
            head = self.read(9)
            length = int.from_bytes(head[:3], "big")
            kind, flags = head[3], head[4]
            stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = self.read(length)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, payload))
            elif kind == DATA and length and self.reads_bodies:
                updates = [frame(WINDOW_UPDATE, 0, 0, number(length))]
                if not flags & END_STREAM:
                    updates.append(frame(WINDOW_UPDATE, 0, stream, number(length)))
                self.send(*updates)
            elif kind == HEADERS:
                yield self.request(stream, flags, payload)

    def request(self, stream, flags, payload):
        if flags & 0x20:
            payload = payload[5:]
        fields = dict(self.decoder.decode(payload))
        return Request(stream, fields[":method"], self.arrivals.note(fields[":path"]))

    def head(self, stream, fields=(), status="200", flags=END_HEADERS):
        block = self.encoder.encode([(":status", status), ("content-type", "application/json"), *fields])
        return frame(HEADERS, flags, stream, block)

    def answer(self, request, fields=()):
        self.send(
            self.head(request.stream, [("content-length", str(len(request.body))), *fields]),
            frame(DATA, END_STREAM, request.stream, request.body),
        )
