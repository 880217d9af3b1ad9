import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// D10 to D14: files and forms as bodies.
    static let uploads: [Case] = [
        Case("D11", "a file goes out whole, and again from its start after a 503, a 401 and a 307") { scene in
            let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) })
            let file = try UploadFile(content)
            scene.server.on(.put, "/x", .status(503), .status(401), .redirect(307, to: "/y"))
            scene.server.on(.put, "/y", .status(204))
            let tokens = TokenStore { _ in Token(accessToken: "new", refreshToken: "r") }
            await tokens.signIn(Token(accessToken: "old", refreshToken: "r"))
            let client = scene.client {
                $0.tokens = tokens
                $0.retry = .standard
            }
            _ = try await client.run(.put("x", body: .file(file.path)))
            let received = scene.server.received
            try scene.expect("sends", received.map(\.path), is: ["/x", "/x", "/x", "/y"])
            for request in received {
                try scene.expect("the file", request.body == content, seen: "another of \(request.body.count) bytes")
                try scene.expect("its length", request.headers["Content-Length"], is: "\(content.count)")
            }
        },
        Case("D11", "a form with files is the same byte for byte when it is sent again") { scene in
            let content = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) })
            let file = try UploadFile(content)
            scene.server.on(.put, "/x", .status(503), .status(204))
            let body = RequestBody.multipart {
                $0.add("title", "Sunset")
                $0.add("photo", file: file.path)
            }
            _ = try await scene.client { $0.retry = .standard }.run(.put("x", body: body))
            let bodies = scene.server.received.map(\.body)
            try scene.expect("sends", bodies.count, is: 2)
            try scene.expect("the same body", bodies[0] == bodies[1], seen: bodies.map(\.count))
            try scene.expect("the file in it", bodies[0].firstRange(of: content) != nil, seen: bodies[0].count)
        },
        Case("D11", "a connection that breaks while a file is sent is a failure, and the file is sent again") { scene in
            let file = try UploadFile(Data(count: UploadFile.large))
            let sends = Lock(0)
            scene.server.onHead(.put, "/x") { _ in
                let isBroken = sends.withLock { sends in
                    sends += 1
                    return sends < 3
                }
                return isBroken ? LoopbackReply([.pause(.milliseconds(20)), .reset]) : nil
            }
            scene.server.on(.put, "/x", .status(204))
            let client = scene.client { $0.retry = .standard }
            let reply = try await client.reply(to: Endpoint<NoContent>.put("x", body: .file(file.path)))
            try scene.expect("attempts", reply.attempts, is: 3)
        },
        changing("shrinks") { try UploadFile.write(Data(count: 1), to: $0, isAtomic: false) },
        changing("is replaced") { try UploadFile.write(Data(count: UploadFile.large), to: $0, isAtomic: true) },
        changing("vanishes") { try FileManager.default.removeItem(atPath: $0) },
        Case("D13", "an answer that comes before a file was read is the result") { scene in
            let file = try UploadFile(Data(count: UploadFile.large))
            scene.server.onHead(.put, "/x") { _ in .json(#"{"message": "too much"}"#, status: 413) }
            let (error, _) = try await scene.failure("413") { () async throws(ServiceError) in
                try await scene.client().run(.put("x", body: .file(file.path)))
            }
            try scene.expect("the answer", error.status, is: 413)
            try scene.expect("its words", error.localizedDescription, is: "too much")
        },
        Case("D14", "a file is sent after 100 Continue, where the request asks for it") { scene in
            let file = try UploadFile(honest)
            scene.server.on(.put, "/x", .status(204))
            let endpoint = Endpoint<NoContent>.put("x", body: .file(file.path)).header("Expect", "100-continue")
            _ = try await scene.client().run(endpoint)
            try scene.expect("the body", scene.server.received.first?.body, is: honest)
        },
        unkept("more, from the border of a chunk on", ["ab", "c"]),
        unkept("more, within a chunk", ["abc"]),
        unkept("more than nothing", ["a"], length: 0),
        unkept("less", ["a"]),
        unkept("enough, and throws then", ["a", "b"], failing: true),
        Case("D17", "a stream that keeps its promise goes out whole, whatever its chunks are") { scene in
            scene.server.on(.put, "/x", .status(204).always)
            for chunks in [["ab"], ["a", "b"], ["", "a", "", "b", ""]] {
                let body = HTTPBody.stream(length: 2, stream(of: chunks))
                _ = try await scene.send(scene.request(.put, body: body))
                try scene.expect("the body", scene.server.received.last?.body, is: Data("ab".utf8))
            }
            _ = try await scene.send(scene.request(.put, body: .stream(length: 0, stream(of: [""]))))
            try scene.expect("an empty body", scene.server.received.last?.body, is: Data())
        },
    ]

    /// D17: a stream that does not have the length that it has promised.
    private static func unkept(
        _ what: String, _ chunks: [String], length: Int = 2, failing: Bool = false
    ) -> Case {
        Case("D17", "a stream that brings \(what) fails the call, and the server never has a whole body") { scene in
            scene.server.on(.put, "/x", .status(204).always)
            let body = HTTPBody.stream(length: length, stream(of: chunks, then: failing ? BrokenStream() : nil))
            let outcome = try await scene.outcome(of: scene.request(.put, body: body))
            guard case .failure(.transport(let failure)) = outcome, failure.kind == .requestBody else {
                throw ConformanceScene.surprise(".transport(requestBody)", outcome)
            }
            try await scene.expectNoConnection()
            try scene.expect("requests", scene.server.received.count, is: 0)
        }
    }

    private struct BrokenStream: Error {}

    private static func stream(of chunks: [String], then error: (any Error)? = nil) -> HTTPBody.Chunks {
        HTTPBody.Chunks { continuation in
            for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
            continuation.finish(throwing: error)
        }
    }

    /// D10: a file that changes as soon as the server has seen the head of the request.
    ///
    /// A transport that has read all of the file by then sends what it was; no transport sends anything else.
    private static func changing(_ what: String, _ change: @escaping @Sendable (String) throws -> Void) -> Case {
        Case("D10", "a file that \(what) while it is sent fails the call, and the server never has a wrong body") {
            scene in
            let content = Data(repeating: 1, count: UploadFile.large)
            let file = try UploadFile(content)
            scene.server.onHead(.put, "/x") { _ in
                // A file that cannot be changed is sent as it is, which the case notices.
                try? change(file.path)
                return nil
            }
            scene.server.on(.put, "/x", .status(204))
            do throws(ServiceError) {
                _ = try await scene.client().run(.put("x", body: .file(file.path)))
            } catch {
                guard case .transport(let failure) = error, failure.kind == .file else {
                    throw ConformanceScene.surprise(".transport(file)", error)
                }
                // A transport that reads files by itself may have sent all of it as it was.
                if scene.server.received.isEmpty { try await scene.expectNoConnection() }
            }
            for body in scene.server.received.map(\.body) {
                try scene.expect("the file as it was", body == content, seen: "another of \(body.count) bytes")
            }
        }
    }
}

/// A file to send, which is deleted with this object.
private final class UploadFile: Sendable {
    /// More than the buffers of both sides take, so that the file is still being read when the server has the head.
    static let large = 32 << 20

    let path: String

    init(_ content: Data) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
        try Self.write(content, to: path, isAtomic: false)
    }

    static func write(_ content: Data, to path: String, isAtomic: Bool) throws {
        try content.write(to: URL(filePath: path), options: isAtomic ? .atomic : [])
    }

    deinit {
        // It may have been deleted already.
        try? FileManager.default.removeItem(atPath: path)
    }
}
