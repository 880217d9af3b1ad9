import Errand
import Foundation

/// A minimal transport that streams in both directions: one connection for each request, read by the task that reads
/// the body. It shows that a transport can pass the cases about streams.
final class StreamingTransport: Transport {
    /// A connection, with the received bytes of the response that nothing has read yet.
    private actor Exchange {
        private let client: RawClient
        private let wire: Wire
        private var buffer = Data()
        private var left: Int?

        init(port: Int, wire: Wire) {
            client = RawClient(port: port)
            self.wire = wire
            wire.client = client
        }

        func send(_ data: Data) throws {
            guard client.send(data) else { throw Self.broken(.reset) }
        }

        func head() throws -> (status: Int, headers: HTTPHeaders) {
            let end = Data("\r\n\r\n".utf8)
            while buffer.firstRange(of: end) == nil {
                guard let data = client.read(), !data.isEmpty else { throw Self.broken(.reset) }
                buffer += data
            }
            let range = buffer.firstRange(of: end) ?? 0..<0
            let lines = String(decoding: buffer[..<range.lowerBound], as: UTF8.self).split(separator: "\r\n")
            buffer = Data(buffer[range.upperBound...])
            let headers = HTTPHeaders(
                lines.dropFirst().map { line in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    return HTTPHeaders.Field(name: "\(parts[0])", value: parts[1].trimmingCharacters(in: .whitespaces))
                })
            left = headers["Content-Length"].flatMap { Int($0) }
            return (Int(lines[0].dropFirst(9).prefix(3)) ?? 0, headers)
        }

        func chunk() throws -> Data? {
            if left == 0 { return nil }
            defer { buffer = Data() }
            let chunk = buffer.isEmpty ? client.read() : buffer
            guard let chunk, !chunk.isEmpty else {
                if left == nil, chunk != nil { return nil }
                throw Self.broken(.truncated)
            }
            left = left.map { $0 - chunk.count }
            return chunk
        }

        private static func broken(_ kind: TransportFailure.Kind) -> ServiceError {
            .transport(TransportFailure(kind))
        }
    }

    /// The socket that a cancellation shuts down.
    private final class Wire: @unchecked Sendable {
        // Set once, before any other thread has access.
        weak var client: RawClient?

        func cut() { client?.shut() }
    }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let wire = Wire()
        let exchange = Exchange(port: request.url.origin.port, wire: wire)
        return try await withTaskCancellationHandler {
            var head = "\(request.method) \(request.url.target) HTTP/1.1\r\nHost: loopback\r\n"
            let length = request.body.map { $0.length }
            // With its head, a request whose body is empty would be complete.
            if let body = request.body, body.length == 0 { try await send(body) { _ in } }
            if let length { head += length.map { "Content-Length: \($0)\r\n" } ?? "Transfer-Encoding: chunked\r\n" }
            try await exchange.send(Data("\(head)\r\n".utf8))
            if let body = request.body, let length {
                if length != 0 {
                    try await send(body) { chunk in
                        let size = Data("\(String(chunk.count, radix: 16))\r\n".utf8)
                        try await exchange.send(length == nil ? size + chunk + Data("\r\n".utf8) : chunk)
                    }
                }
                if length == nil { try await exchange.send(Data("0\r\n\r\n".utf8)) }
            }
            let (status, headers) = try await exchange.head()
            let chunks = HTTPBody.Chunks {
                try await withTaskCancellationHandler {
                    try await exchange.chunk()
                } onCancel: {
                    wire.cut()
                }
            }
            let isBare = request.method == .head || status == 204
            return HTTPResponse(status: status, headers: headers, body: isBare ? .empty : .stream(chunks))
        } onCancel: {
            wire.cut()
        }
    }

    /// Sends the chunks of a body. The one that completes the promised length waits for the end of the stream: one that
    /// then brings more, or throws, has not given the server a whole body.
    private func send(_ body: HTTPBody, by send: (Data) async throws -> Void) async throws {
        var count = 0
        var last = Data()
        do {
            for try await chunk in body.chunks where !chunk.isEmpty {
                count += chunk.count
                guard count <= body.length ?? .max else { throw ServiceError.wrongLength(of: body) }
                if count == body.length { last = chunk } else { try await send(chunk) }
            }
        } catch  where !(error is ServiceError || error is CancellationError) {
            // What the stream throws is the fault of the code that made it.
            throw ServiceError.transport(TransportFailure(.requestBody, "the stream failed"))
        }
        guard count == body.length ?? count else { throw ServiceError.wrongLength(of: body) }
        if !last.isEmpty { try await send(last) }
    }

    func shutdown() async {}
}
