"""HTTP/2 attacks of a hostile server: one function for each attack, with the allowed outcomes of a call."""

import gzip
import time

from connection import *

ALL = []

VALUE, MALFORMED, TRUNCATED, RESET = "value", "transport_malformed", "transport_truncated", "transport_reset"
LATE, TOO_LARGE, SERVER, UNDECODABLE = "timed_out", "transport_tooLarge", "server_failure", "undecodable"
BROKEN = (MALFORMED, TRUNCATED, RESET)


def attack(*allowed, recovers=False):
    """Registers a function as an attack, with the allowed outcomes; one that `recovers` serves a later call."""

    def note(function):
        ALL.append((function.__name__, allowed, recovers, function))
        return function

    return note


def for_each(*allowed, recovers=False):
    """Registers an attack that is made on each request."""

    def note(function):
        def run(c):
            c.begin()
            for request in c.requests():
                function(c, request)

        run.__name__ = function.__name__
        return attack(*allowed, recovers=recovers)(run)

    return note


@for_each(VALUE, recovers=True)
def nothing(c, request):
    c.answer(request)


# Floods. A call ends when its time is over, or when the client detects the flood.


@for_each(LATE, *BROKEN)
def flood_of_window_updates(c, request):
    c.flood(frame(WINDOW_UPDATE, 0, 0, number(1)))


@for_each(LATE, *BROKEN)
def flood_of_window_updates_for_the_stream(c, request):
    c.flood(frame(WINDOW_UPDATE, 0, request.stream, number(1)))


@for_each(LATE, *BROKEN)
def flood_of_empty_data(c, request):
    c.send(c.head(request.stream))
    c.flood(frame(DATA, 0, request.stream))


@for_each(LATE, *BROKEN)
def flood_of_padding(c, request):
    c.send(c.head(request.stream))
    c.flood(frame(DATA, PADDED, request.stream, b"\xff" + bytes(255)))


@for_each(LATE, *BROKEN)
def flood_of_priorities(c, request):
    c.flood(frame(PRIORITY, 0, request.stream, number(0) + b"\x10"))


@for_each(LATE, *BROKEN)
def flood_of_pings(c, request):
    c.flood(frame(PING, 0, 0, bytes(8)))


@for_each(LATE, *BROKEN)
def flood_of_settings(c, request):
    c.flood(frame(SETTINGS, 0, 0, b"\0\4\0\1\0\0"))


@for_each(LATE, *BROKEN)
def flood_of_unknown_frames(c, request):
    c.flood(frame(0xEE, 0, 0, b""))


@for_each(LATE, *BROKEN)
def flood_of_goaways(c, request):
    c.flood(frame(GOAWAY, 0, 0, number(0x7FFFFFFF) + number(NO_ERROR)))


@for_each(LATE, *BROKEN)
def flood_of_resets_of_another_stream(c, request):
    c.flood(frame(RST_STREAM, 0, max(1, request.stream - 2), number(CANCEL)))


@for_each(LATE, *BROKEN)
def flood_of_interim_answers(c, request):
    c.flood(frame(HEADERS, END_HEADERS, request.stream, hpack.Encoder().encode([(":status", "103")], huffman=False)))


@for_each(LATE, *BROKEN)
def endless_continuation(c, request):
    c.send(c.head(request.stream, flags=0))
    c.flood(frame(CONTINUATION, 0, request.stream, b"\x00\x01a\x01b"))


@for_each(LATE, *BROKEN)
def endless_empty_continuation(c, request):
    c.send(c.head(request.stream, flags=0))
    c.flood(frame(CONTINUATION, 0, request.stream))


@for_each(LATE, *BROKEN)
def endless_trailers(c, request):
    c.send(c.head(request.stream), frame(DATA, 0, request.stream, request.body))
    c.send(frame(HEADERS, END_STREAM, request.stream, b"\x00\x01a\x01b"))
    c.flood(frame(CONTINUATION, 0, request.stream, b"\x00\x01a\x01b" * 100))


@for_each(TOO_LARGE, LATE, *BROKEN)
def endless_body(c, request):
    c.send(c.head(request.stream))
    c.flood(frame(DATA, 0, request.stream, bytes(16000)))


# Connection endings.


@for_each(TRUNCATED, RESET)
def reset_without_error_before_the_end(c, request):
    c.send(
        c.head(request.stream), frame(DATA, 0, request.stream, request.body),
        frame(RST_STREAM, 0, request.stream, number(NO_ERROR)),
    )


@for_each(TRUNCATED, RESET)
def reset_with_an_error_within_the_body(c, request):
    c.send(
        c.head(request.stream), frame(DATA, 0, request.stream, request.body[:4]),
        frame(RST_STREAM, 0, request.stream, number(INTERNAL_ERROR)),
    )


@for_each(RESET)
def refused_stream(c, request):
    c.arrivals.forget(request)
    c.send(frame(RST_STREAM, 0, request.stream, number(REFUSED_STREAM)))


# Later requests go over HTTP/1.1, and get their values there.
@for_each(RESET, MALFORMED, TRUNCATED, VALUE)
def http_1_1_required(c, request):
    c.arrivals.forget(request)
    c.send(frame(RST_STREAM, 0, request.stream, number(HTTP_1_1_REQUIRED)))


@for_each(RESET)
def cancelled_by_the_server(c, request):
    c.send(frame(RST_STREAM, 0, request.stream, number(CANCEL)))


@for_each(RESET, TRUNCATED)
def goaway_that_has_seen_nothing(c, request):
    c.arrivals.forget(request)
    c.send(frame(GOAWAY, 0, 0, number(0) + number(NO_ERROR)))
    raise EOFError


@for_each(VALUE, RESET, TRUNCATED)
def goaway_and_then_the_answer(c, request):
    c.send(frame(GOAWAY, 0, 0, number(request.stream) + number(NO_ERROR)))
    c.answer(request)


@for_each(RESET, TRUNCATED)
def goaway_within_the_body(c, request):
    c.send(
        c.head(request.stream), frame(DATA, 0, request.stream, request.body[:4]),
        frame(GOAWAY, 0, 0, number(request.stream) + number(ENHANCE_YOUR_CALM)),
    )
    raise EOFError


@for_each(RESET, TRUNCATED)
def close_within_the_head(c, request):
    c.send(c.head(request.stream)[:12])
    raise EOFError


@for_each(TRUNCATED, RESET)
def close_within_the_body(c, request):
    c.send(c.head(request.stream, [("content-length", "100")]), frame(DATA, 0, request.stream, request.body))
    raise EOFError


@attack(RESET, TRUNCATED, MALFORMED)
def close_at_once(c):
    c.begin()


@attack(VALUE, LATE, RESET, recovers=True)
def frozen_after_an_answer(c):
    c.begin()
    for request in c.requests():
        if c.index == 0 and len(c.arrivals.tokens) > 1:
            c.freeze()
        c.answer(request)


@attack(LATE)
def frozen_from_the_start(c):
    c.freeze()


@for_each(LATE)
def no_answer(c, request):
    pass


@for_each(VALUE, LATE)
def drip(c, request):
    c.send(c.head(request.stream))
    for byte in request.body:
        c.send(frame(DATA, 0, request.stream, bytes([byte])))
        time.sleep(0.02)
    c.send(frame(DATA, END_STREAM, request.stream))


# Invalid responses.


@for_each(*BROKEN)
def no_status(c, request):
    block = c.encoder.encode([("content-type", "application/json")])
    c.send(frame(HEADERS, END_HEADERS, request.stream, block), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(*BROKEN)
def two_statuses(c, request):
    block = c.encoder.encode([(":status", "200"), (":status", "404")])
    c.send(frame(HEADERS, END_HEADERS, request.stream, block), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(*BROKEN)
def status_that_is_no_number(c, request):
    c.send(c.head(request.stream, status="2x0"), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(LATE, *BROKEN)
def status_101(c, request):
    c.send(c.head(request.stream, status="101"), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(SERVER, *BROKEN)
def status_999(c, request):
    c.send(c.head(request.stream, status="999"), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(*BROKEN)
def upper_case_names(c, request):
    c.answer(request, [("X-Upper", "1")])


@for_each(*BROKEN)
def empty_name(c, request):
    c.answer(request, [("", "1")])


@for_each(*BROKEN)
def control_characters(c, request):
    c.answer(request, [("x", "a\r\nSet-Cookie: b")])


@for_each(*BROKEN)
def connection_header(c, request):
    c.answer(request, [("connection", "close"), ("transfer-encoding", "chunked")])


@for_each(*BROKEN)
def data_before_headers(c, request):
    c.send(frame(DATA, END_STREAM, request.stream, request.body))


@for_each(*BROKEN)
def length_that_is_too_large(c, request):
    c.send(
        c.head(request.stream, [("content-length", "1000")]), frame(DATA, END_STREAM, request.stream, request.body)
    )


@for_each(*BROKEN)
def length_that_is_too_small(c, request):
    c.send(c.head(request.stream, [("content-length", "3")]), frame(DATA, END_STREAM, request.stream, request.body))


@for_each(*BROKEN)
def two_lengths(c, request):
    c.answer(request, [("content-length", "3")])


@for_each(*BROKEN)
def wrong_stream(c, request):
    c.send(c.head(request.stream + 100), frame(DATA, END_STREAM, request.stream + 100, request.body))


@for_each(*BROKEN)
def even_stream(c, request):
    c.send(c.head(2), frame(DATA, END_STREAM, 2, request.body))


@for_each(VALUE, *BROKEN)
def push_promise(c, request):
    block = c.encoder.encode([(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/1")])
    c.send(frame(PUSH_PROMISE, END_HEADERS, request.stream, number(2) + block))
    c.answer(request)


@for_each(VALUE, *BROKEN)
def more_after_the_end(c, request):
    c.answer(request)
    c.send(frame(DATA, END_STREAM, request.stream, b'{"id": -2}'))


@for_each(VALUE, *BROKEN)
def two_answers(c, request):
    c.send(c.head(request.stream))
    c.answer(request)


# Invalid frames, and bombs.


@for_each(*BROKEN)
def names_from_nowhere(c, request):
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, request.stream, b"\xff\xff\xff\xff\x0f" * 10))


@for_each(LATE, *BROKEN)
def header_bomb(c, request):
    # A value of 3 KB goes into the table, and is then referenced by one byte, again and again.
    entry = b"\x40\x01a" + b"\x7f\xb9\x16" + b"x" * 3000
    c.send(c.head(request.stream, flags=0), frame(CONTINUATION, 0, request.stream, entry))
    for _ in range(20):
        c.send(frame(CONTINUATION, 0, request.stream, b"\xbe" * 16000))
    c.send(frame(CONTINUATION, END_HEADERS, request.stream), frame(DATA, END_STREAM, request.stream, request.body))


BOMB = gzip.compress(bytes(64 << 20))


@for_each(TOO_LARGE)
def body_bomb(c, request):
    c.send(c.head(request.stream, [("content-encoding", "gzip")]))
    for start in range(0, len(BOMB), 16000):
        c.send(frame(DATA, 0, request.stream, BOMB[start : start + 16000]))
    c.send(frame(DATA, END_STREAM, request.stream))


@for_each(*BROKEN)
def frame_that_is_too_large(c, request):
    c.send(frame(DATA, END_STREAM, request.stream, bytes(1 << 20)))


@for_each(*BROKEN)
def padding_beyond_the_frame(c, request):
    c.send(c.head(request.stream), frame(DATA, PADDED | END_STREAM, request.stream, b"\xff{}"))


@for_each(*BROKEN)
def window_overflow(c, request):
    c.send(*[frame(WINDOW_UPDATE, 0, request.stream, number(0x7FFFFFFF))] * 2)
    c.send(*[frame(WINDOW_UPDATE, 0, 0, number(0x7FFFFFFF))] * 2)


@for_each(*BROKEN)
def window_update_of_nothing(c, request):
    c.send(frame(WINDOW_UPDATE, 0, 0, number(0)))


@attack(*BROKEN)
def settings_that_are_none(c):
    c.begin(b"\0\5\0\0\0\0" + b"\0\4\xff\xff\xff\xff")
    for _ in c.requests():
        pass


@attack(LATE)
def no_streams_allowed(c):
    c.begin(b"\0\3\0\0\0\0")
    for _ in c.requests():
        pass


@attack(VALUE, LATE)
def no_window_for_bodies(c):
    c.begin(b"\0\4\0\0\0\0")
    for request in c.requests():
        if request.method == "GET":
            c.answer(request)


@attack(LATE, *BROKEN)
def http_1_on_a_connection_of_http_2(c):
    c.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    c.freeze()


@attack(VALUE, recovers=True)
def answer_before_the_body_has_come(c):
    # The body exceeds the first window, so it cannot have been sent completely; RFC 9113, 8.1 allows the server to
    # respond, and to ask with NO_ERROR that the rest is not sent.
    c.reads_bodies = False
    c.begin()
    for request in c.requests():
        c.answer(request)
        if request.method == "POST":
            c.send(frame(RST_STREAM, 0, request.stream, number(NO_ERROR)))
            c.send(frame(WINDOW_UPDATE, 0, 0, number(1 << 20)))
