import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C38 to C40: heads and bodies of every size and shape.
    static let answers: [Case] = [
        head("without spaces after the colons", "X-Odd:1\r\n") { $0 == "1" },
        head("with spaces around the value", "X-Odd: \t 1 \t \r\n") { $0 == "1" },
        head("in Latin-1", "X-Odd: caf\u{E9}\r\n") { $0.hasPrefix("caf") },
        head("that is folded", "X-Odd: one\r\n  two\r\n") { $0.hasPrefix("one") && $0.hasSuffix("two") },
        head("with a bare carriage return", "X-Odd: one\rtwo\r\n") { $0 == "one two" },
        head("of 256 KiB", "X-Odd: \(String(repeating: "a", count: 256 << 10))\r\n") { $0.count == 256 << 10 },
        head("of ten thousand", String(repeating: "X-Odd: 1\r\n", count: 10_000)) { $0 == "1" },
        Case("C38", "an endless head is an error, and is not read without bound") { scene in
            scene.server.on(
                .get, "/x",
                LoopbackReply([
                    .write(Data("HTTP/1.1 200 OK\r\n".utf8)),
                    .repeatForever(Data(String(repeating: "X-Odd: 1\r\n", count: 1000).utf8)),
                ]))
            let outcome = try await scene.outcome(of: scene.request())
            guard case .failure(.transport(let failure)) = outcome else {
                throw ConformanceScene.surprise("a failure", outcome)
            }
            try scene.expect("malformed or too large", [.malformed, .tooLarge].contains(failure.kind), seen: failure)
            try expectBounded(scene)
        },
        Case("C38", "each line that sets a cookie is a field of its own") { scene in
            let lines = ["a=1; Expires=Wed, 09 Jun 2038 10:18:14 GMT; Path=/", "b=2; Path=/"]
            let fields = lines.map { "Set-Cookie: \($0)\r\n" }.joined()
            scene.server.on(.get, "/x", .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\(fields)\r\n1"))
            let response = try await scene.outcome(of: scene.request()).get()
            let values = response.headers.values("Set-Cookie")
            try scene.expect("the lines as they were sent", values == lines, seen: values)
        },
        packed("gzip") { Gzip.stored($0) },
        // One stored block, and the empty last block (RFC 7932, 9).
        packed("br") { data in
            let header = 1 << 20 | (data.count - 1) << 4
            return Data([0, 8, 16].map { UInt8(truncatingIfNeeded: header >> $0) }) + data + [3]
        },
        // A frame with one stored block (RFC 8878, 3.1.1).
        packed("zstd") { data in
            Data([0x28, 0xB5, 0x2F, 0xFD, 0x20, UInt8(data.count), UInt8(data.count << 3 | 1), 0, 0]) + data
        },
        Case("C39", "a bomb stops at the limit on the bytes that come out") { scene in
            scene.server.on(.get, "/x") { request in
                accepts("gzip", request) ? .bomb(1 << 28) : .status(200, body: Data(count: 1 << 20 + 1))
            }
            try await scene.expectFailure("a quarter of a gibibyte out of two megabytes", .tooLarge, limit: 1 << 20)
        },
        Case("C39", "a packed body that breaks off is an error") { scene in
            let packed = Gzip.zeros(1 << 20)
            let text = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
            scene.server.on(.get, "/x") { request in
                guard accepts("gzip", request) else { return .json("1").cut(.withinBody) }
                return .raw(Data(text.utf8) + packed.prefix(packed.count / 2))
            }
            try await scene.expectFailure("half of a packed body", .truncated, .malformed)
        },
        Case("C39", "a packed body that ends early within its length is an error") { scene in
            let packed = Gzip.stored(honest)
            scene.server.on(.get, "/x") { request in
                guard accepts("gzip", request) else { return .json("1").cut(.withinBody) }
                return .status(200, headers: ["Content-Encoding": "gzip"], body: packed.prefix(packed.count / 2))
            }
            try await scene.expectFailure("half of a packed body", .truncated, .malformed)
        },
        Case("C39", "a packed body that is damaged is malformed") { scene in
            var packed = Gzip.zeros(1 << 20)
            // The byte is part of the checksum.
            packed[packed.count - 6] ^= 1
            let damaged = packed
            scene.server.on(.get, "/x") { request in
                guard accepts("gzip", request) else { return .raw("what is this?\r\n\r\n") }
                return .status(200, headers: ["Content-Encoding": "gzip"], body: damaged)
            }
            try await scene.expectFailure("a wrong checksum", .malformed)
        },
        tooLarge("without a length", .endless()),
        tooLarge(
            "in chunks",
            LoopbackReply([
                .write(LoopbackReply.head(200, ["Transfer-Encoding": "chunked"])),
                .repeatForever(Data("10000\r\n".utf8) + Data(count: 65_536) + Data("\r\n".utf8)),
            ])),
        tooLarge(
            "of a length beyond all bounds",
            LoopbackReply([
                .write(LoopbackReply.head(200, ["Content-Length": "9223372036854775807"])),
                .repeatForever(Data(count: 65_536)),
            ])),
        Case("C40", "a body of exactly the limit is a value, one byte more is too large") { scene in
            scene.server.on(.get, "/x", .status(200, body: Data(count: 100_000)).always)
            try scene.expect("bytes", try await scene.get(limit: 100_000).body.count, is: 100_000)
            try await scene.expectFailure("a byte too much", .tooLarge, limit: 99_999)
        },
        Case("C40", "a large body arrives as it was sent") { scene in
            let body = large
            scene.server.on(
                .get, "/x", .status(200, body: body), .chunks([body.prefix(3_000_000), body.dropFirst(3_000_000)]))
            try scene.expect("the body by its length", try await scene.get().body == body, seen: "another")
            try scene.expect("the body in chunks", try await scene.get().body == body, seen: "another")
        },
    ]

    /// The bytes that the system may buffer on both sides of a connection, and a transport in its own buffers.
    private static let buffers = 48 << 20

    static func expectBounded(_ scene: ConformanceScene) throws {
        let sent = scene.server.bytesSent
        try scene.expect("no more than \(buffers) bytes were taken", sent < buffers, seen: sent)
    }

    /// C38: a value, or an error of the transport; if there is a value, the field is right.
    private static func head(
        _ what: String, _ lines: String, _ isRight: @escaping @Sendable (String) -> Bool
    ) -> Case {
        Case("C38", "header fields \(what) are a value or a bounded error") { scene in
            // Latin-1: one byte for each scalar.
            let bytes = Data(
                "HTTP/1.1 200 OK\r\n\(lines)Content-Length:6\r\n\r\nhonest".unicodeScalars.map {
                    UInt8(truncatingIfNeeded: $0.value)
                })
            scene.server.on(.get, "/x", .raw(bytes))
            switch try await scene.outcome(of: scene.request()) {
            case .success(let answer):
                let value = answer.headers["X-Odd"]
                try scene.expect("the field", value.map(isRight) == true, seen: String((value ?? "none").prefix(80)))
                try scene.expect("the body", answer.text, is: "honest")
            case .failure(.transport(let failure)):
                try scene.expect(
                    "malformed or too large", [.malformed, .tooLarge].contains(failure.kind), seen: failure)
            case .failure(let error): throw ConformanceScene.surprise("a value or a failure of the transport", error)
            }
        }
    }

    private static func packed(_ coding: String, _ pack: @escaping @Sendable (Data) -> Data) -> Case {
        Case("C39", "\(coding) is unpacked, if the transport has asked for it") { scene in
            scene.server.on(.get, "/x") { request in
                guard accepts(coding, request) else { return .status(200, body: honest) }
                return .status(200, headers: ["Content-Encoding": coding], body: pack(honest))
            }
            try scene.expect("the body", try await scene.get().text, is: "honest")
        }
    }

    private static func accepts(_ coding: String, _ request: LoopbackRequest) -> Bool {
        request.headers.values("Accept-Encoding").joined(separator: ",").lowercased().split(separator: ",")
            .contains { $0.drop { $0 == " " }.prefix { $0 != ";" && $0 != " " } == coding }
    }

    private static func tooLarge(_ what: String, _ reply: LoopbackReply) -> Case {
        Case("C40", "an endless body \(what) is too large, and is not read without bound") { scene in
            scene.server.on(.get, "/x", reply)
            try await scene.expectFailure("an endless body", .tooLarge, limit: 1 << 20)
            try expectBounded(scene)
            try await scene.expectNoConnection()
        }
    }
}
