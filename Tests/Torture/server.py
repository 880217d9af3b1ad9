"""The server of the torture: prints its address, and answers until it is killed."""
import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, content_type):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/file":
            self.answer(bytes(600_000), "application/octet-stream")
        else:
            self.answer(b"7", "application/json")

    def do_PUT(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])), "text/plain")

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Prints nothing: clients that break off are what this is about."""


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
