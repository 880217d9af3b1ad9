"""A server for each attack, each on a port of its own: `server.py <folder>`.

Makes a certificate in the folder, prints one line (`name:port:allowed:recovers` for each attack), and serves until the
process that has started it is gone.
"""

import os
import socket
import ssl
import subprocess
import sys
import threading
import time

# Nothing is written into the checkout.
sys.dont_write_bytecode = True

from attacks import ALL
from connection import Arrivals, Connection, body


def certificate(folder):
    file, key = os.path.join(folder, "server.pem"), os.path.join(folder, "server-key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-keyout", key, "-out", file, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    return file, key


def answer_over_http1(connection, arrivals):
    content = body(arrivals.note(connection.recv(65536).split()[1].decode()))
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))


def converse(plain, context, run, arrivals, index):
    try:
        with context.wrap_socket(plain, server_side=True) as connection:
            if connection.selected_alpn_protocol() == "h2":
                run(Connection(connection, arrivals, index))
            else:
                answer_over_http1(connection, arrivals)
    except (OSError, EOFError, ValueError):
        # The client has closed the connection, or the attack was to end it.
        pass


def serve(listener, context, run, arrivals):
    index = 0
    while True:
        plain, _ = listener.accept()
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=converse, args=(plain, context, run, arrivals, index), daemon=True).start()
        index += 1


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(sys.argv[1]))
    context.set_alpn_protocols(["h2", "http/1.1"])
    parent, words = os.getppid(), []
    for name, allowed, recovers, run in ALL:
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        words.append(f"{name}:{listener.getsockname()[1]}:{','.join(allowed)}:{int(recovers)}")
        # The client looks for this file.
        twice = os.path.join(sys.argv[1], name)
        threading.Thread(target=serve, args=(listener, context, run, Arrivals(twice)), daemon=True).start()
    print(*words, flush=True)
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


main()
