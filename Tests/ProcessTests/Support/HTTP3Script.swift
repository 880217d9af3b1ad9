#if os(Linux)
extension HTTP3Server {
    /// What the Python process runs: one port for TLS over TCP and for HTTP/3, which both lead to the backend. With a
    /// neighbor, HTTP/3 is on that one's port.
    static let script = #"""
        import asyncio, os, re, ssl, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.h3.connection import H3_ALPN, H3Connection
        from aioquic.h3.events import DataReceived, HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StreamReset, StopSendingReceived

        certificate, key, backend, udp = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
        asks, neighbor = sys.argv[5] == "asking", int(sys.argv[6])
        NO_ERROR, INTERNAL_ERROR, REJECTED = 0x100, 0x102, 0x10b
        fronts = []

        class Front(QuicConnectionProtocol):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                self.http, self.streams, self.moved = None, {}, asyncio.Event()
                fronts.append(self)
                self.number = len(fronts)

            def datagram_received(self, data, address):
                # Its TLS begins with the first datagram.
                begin = self._quic._initialize
                def initialize(*arguments):
                    begin(*arguments)
                    self._quic.tls._request_client_certificate = asks
                self._quic._initialize = initialize
                super().datagram_received(data, address)
                self._quic._initialize = begin
                self.moved.set()

            def quic_event_received(self, event):
                if isinstance(event, ProtocolNegotiated): self.http = H3Connection(self._quic)
                elif isinstance(event, (StreamReset, StopSendingReceived)): self.drop(event.stream_id)
                elif isinstance(event, ConnectionTerminated):
                    for stream in list(self.streams): self.drop(stream)
                if not self.http: return
                for event in self.http.handle_event(event):
                    if isinstance(event, HeadersReceived) and event.stream_id not in self.streams:
                        queue = asyncio.Queue()
                        run = self.run(event.stream_id, event.headers, event.stream_ended, queue)
                        self.streams[event.stream_id] = asyncio.ensure_future(run), queue
                    elif event.stream_id in self.streams and isinstance(event, (DataReceived, HeadersReceived)):
                        queue = self.streams[event.stream_id][1]
                        if isinstance(event, DataReceived) and event.data: queue.put_nowait(event.data)
                        if event.stream_ended: queue.put_nowait(None)

            def drop(self, stream):
                if stream in self.streams: self.streams.pop(stream)[0].cancel()

            async def run(self, stream, headers, is_whole, queue):
                writer = None
                try:
                    port = int(dict(headers).get(b"x-backend", backend))
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    await self.forward(stream, headers, is_whole, queue, reader, writer)
                except (OSError, EOFError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    self.reset(stream, INTERNAL_ERROR)
                finally:
                    self.streams.pop(stream, None)
                    if writer: writer.transport.abort()

            def reset(self, stream, code):
                self._quic.reset_stream(stream, code)
                try: self._quic.stop_stream(stream, code)
                except Exception: pass
                self.transmit()

            async def forward(self, stream, headers, is_whole, queue, reader, writer):
                fields = dict(headers)
                method = fields[b":method"]
                is_chunked = not is_whole and b"content-length" not in fields
                lines = [method + b" " + fields[b":path"] + b" HTTP/1.1", b"Host: " + fields[b":authority"]]
                lines += [name + b": " + value for name, value in headers if not name.startswith(b":")]
                lines += [b"X-Connection: h3-%d" % self.number]
                peer = self._quic.tls._peer_certificate
                if peer: lines += [b"X-Certificate: " + peer.subject.rfc4514_string().encode()]
                if is_chunked: lines += [b"Transfer-Encoding: chunked"]
                writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
                upload = asyncio.ensure_future(self.upload(queue, writer, is_chunked)) if not is_whole else None
                try: await self.answer(stream, method, reader)
                finally:
                    if upload:
                        # A response that comes before the request is whole asks for no more of it.
                        if not upload.done():
                            self._quic.stop_stream(stream, NO_ERROR)
                            self.transmit()
                        upload.cancel()

            async def upload(self, queue, writer, is_chunked):
                while (data := await queue.get()) is not None:
                    writer.write(b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data)
                    await writer.drain()
                if is_chunked: writer.write(b"0\r\n\r\n")

            async def answer(self, stream, method, reader):
                status = 100
                while status < 200:
                    head = await reader.readuntil(b"\r\n\r\n")
                    lines = head.split(b"\r\n")
                    status = int(lines[0].split(b" ")[1])
                fields = [line.split(b":", 1) for line in lines[1:] if line]
                fields = [(name.lower().strip(), value.strip()) for name, value in fields]
                values = dict(fields)
                fault = values.get(b"x-fault", b"").decode()
                if fault == "refuse": return self.reset(stream, REJECTED)
                if fault == "leave": return self.leave()
                is_empty = method == b"HEAD" or status in (204, 304)
                own = [b"connection", b"transfer-encoding", b"keep-alive", b"x-fault"]
                fields = [(b":status", b"%d" % status)] + [field for field in fields if field[0] not in own]
                self.http.send_headers(stream, fields, end_stream=is_empty)
                self.transmit()
                if is_empty: return
                async for piece in body(values, reader):
                    if fault: piece = piece[:len(piece) // 2]
                    self.http.send_data(stream, piece, end_stream=False)
                    self.transmit()
                    await self.drain(stream)
                    if fault == "reset": return self.reset(stream, INTERNAL_ERROR)
                    if fault == "close": return self.leave()
                    if fault == "end": break
                self.http.send_data(stream, b"", end_stream=True)
                self.transmit()

            def leave(self):
                self.close(error_code=NO_ERROR)
                self.transmit()

            # Waits until the client has taken most of what was sent.
            async def drain(self, stream):
                while stream in self._quic._streams and len(self._quic._streams[stream].sender._buffer) > 65536:
                    self.moved.clear()
                    await self.moved.wait()

        # The pieces of a body, as they come.
        async def body(fields, reader):
            if fields.get(b"transfer-encoding") == b"chunked":
                while count := int((await reader.readline()).split(b";")[0], 16):
                    yield await reader.readexactly(count)
                    await reader.readexactly(2)
            elif b"content-length" in fields:
                left = int(fields[b"content-length"])
                while left:
                    piece = await reader.read(min(left, 65536))
                    if not piece: raise EOFError
                    left -= len(piece)
                    yield piece
            else:
                while piece := await reader.read(65536): yield piece

        # TLS over TCP: the first request of a connection may be a command; otherwise all bytes go to the backend.
        async def accept(reader, writer):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ")[1].decode()
                if path.startswith("/tell/"):
                    commands[path[6:]]()
                    writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                    return await writer.drain()
                named = re.search(rb"(?i)\r\nx-backend: (\d+)\r\n", head)
                other, others = await asyncio.open_connection("127.0.0.1", int(named[1]) if named else backend)
                others.write(head)
                ways = [asyncio.ensure_future(copy(*way)) for way in [(reader, others), (other, writer)]]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways: way.cancel()
                others.transport.abort()
            except (OSError, EOFError, asyncio.IncompleteReadError): pass
            finally: writer.close()

        async def copy(reader, writer):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

        commands, is_mute = {}, False

        def mute(value):
            global is_mute
            is_mute = value

        async def main():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
            configuration.load_cert_chain(certificate, key)
            while True:
                tcp = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
                port = tcp.sockets[0].getsockname()[1]
                if udp == "absent": break
                place = "127.0.0.1", neighbor or port
                try: server = await serve(*place, configuration=configuration, create_protocol=Front)
                except OSError:
                    # Something else has the port of UDP.
                    if neighbor: raise
                    tcp.close()
                    continue
                take, send = server.datagram_received, server._transport.sendto
                peers = set()
                def receive(data, address):
                    peers.add(address)
                    if not is_mute: take(data, address)
                server.datagram_received = receive
                server._transport.sendto = lambda data, address=None: None if is_mute else send(data, address)
                def garbage():
                    for address in peers:
                        for count in (1, 20, 1200, 60000): send(os.urandom(count), address)
                        send(b"\x40" + os.urandom(60), address)
                        send(b"\xc0\x00\x00\x00\x01" + os.urandom(200), address)
                commands["garbage"] = garbage
                break
            mute(udp == "mute")
            commands["mute"] = lambda: mute(True)
            commands["speak"] = lambda: mute(False)
            commands["leave"] = lambda: [front.leave() for front in fronts]
            print("ready", port, flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
        """#
}
#endif
