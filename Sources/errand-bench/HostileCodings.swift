import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HostileMutation {
    static let codings: [HostileMutation] = [
        HostileMutation("a sound gzip", ["value"]) { reply, _ in reply.pack("gzip", gzip(reply.body)) },
        HostileMutation("a gzip that is cut", ["transport_truncated"]) { reply, random in
            let packed = gzip(reply.body)
            reply.pack("gzip", packed.prefix(random.int(1...packed.count - 1)))
        },
        // Garbage that begins like another gzip may be cut.
        HostileMutation("a gzip and garbage", ["transport_malformed", "transport_truncated"]) { reply, random in
            let packed = gzip(reply.body)
            reply.pack("gzip", packed + random.data(1...100))
        },
        HostileMutation("two gzips", ["decodingFailed"]) { reply, _ in
            reply.pack("gzip", gzip(reply.body) + gzip(reply.body))
        },
        HostileMutation("a gzip with flaws") { reply, random in
            var packed = gzip(reply.body)
            for _ in 0..<random.int(1...4) { packed[random.int(0...packed.count - 1)] = random.byte() }
            reply.pack("gzip", packed)
        },
        HostileMutation("a bomb", ["transport_tooLarge"]) { reply, _ in reply.pack("gzip", bomb) },
        HostileMutation("garbage as a known coding") { reply, random in
            reply.pack(random.one(of: ["gzip", "deflate", "br", "zstd", "x-gzip"]), random.data(0...300))
        },
        HostileMutation("a magic number and garbage") { reply, random in
            let (name, magic) = random.one(of: [
                ("zstd", [0x28, 0xB5, 0x2F, 0xFD] as [UInt8]), ("gzip", [0x1F, 0x8B, 8, 0xFF]),
                ("deflate", [0x78, 0x9C]),
                ("br", [0xCE, 0xB2, 0xCF, 0x81]),
            ])
            reply.pack(name, Data(magic) + random.data(0...200))
        },
        HostileMutation("an unknown coding", nil) { reply, random in
            let codings = ["rot13", "gzip, gzip", ",", "identity", "br, zstd, br", "gzip;q=1"]
            reply.lines.append(Data("Content-Encoding: \(random.one(of: codings))".utf8))
        },
        HostileMutation("very many codings", ["transport_malformed"]) { reply, _ in
            let codings = Array(repeating: "gzip", count: 1000).joined(separator: ", ")
            reply.lines.append(Data("Content-Encoding: \(codings)".utf8))
        },
    ]

    static let endings: [HostileMutation] = [
        HostileMutation("a close, after so many bytes") { reply, random in
            (reply.cut, reply.end) = (random.int(0...1 << 20), .close)
        },
        HostileMutation("a reset, after so many bytes") { reply, random in
            (reply.cut, reply.end) = (random.int(0...1 << 20), .reset)
        },
        HostileMutation("a stall, after so many bytes") { reply, random in
            // These calls would take a task's whole time until the deadline, so most of them end in another way.
            (reply.cut, reply.end) = (random.int(0...1 << 20), random.chance(25) ? .silence : .close)
        },
        HostileMutation("an end to a connection that was to be kept", ["value"]) { reply, _ in reply.end = .close },
        HostileMutation("a drip") { reply, random in
            reply.body = reply.body.prefix(60)
            reply.drip = random.one(of: [.zero, .microseconds(100), .milliseconds(2), .milliseconds(20)])
        },
        HostileMutation("a surplus", ["value"]) { reply, random in
            (reply.framing, reply.surplus) = (.length, random.data(1...300))
        },
        HostileMutation("another answer, unasked", ["value"]) { reply, random in
            reply.framing = .length
            let other = HostileReply.body(-random.int(1...1 << 30))
            reply.surplus = Data("HTTP/1.1 200 OK\r\nContent-Length: \(other.count)\r\n\r\n".utf8) + other
        },
    ]

    static let bytes: [HostileMutation] = [
        HostileMutation("bytes that were changed") { reply, _ in
            reply.end = .close
            reply.scramble = { bytes, random in
                for _ in 0..<random.int(1...8) {
                    let place = random.int(0...min(bytes.count, 400) - 1)
                    switch random.int(0...3) {
                    case 0: bytes[place] = random.byte()
                    case 1: bytes.insert(random.byte(), at: place)
                    case 2 where bytes.count > 1: bytes.remove(at: place)
                    default: bytes[place] ^= 1 << random.int(0...7)
                    }
                }
            }
        },
        HostileMutation("a part that comes twice") { reply, _ in
            reply.end = .close
            reply.scramble = { bytes, random in
                let start = random.int(0...bytes.count - 1)
                let part = bytes[start..<min(bytes.count, start + random.int(1...100))]
                bytes.insert(contentsOf: Array(part), at: random.int(0...bytes.count))
            }
        },
    ]
}

/// Returns a compressed body, as a test server would send it.
private func gzip(_ body: Data) -> Data { LoopbackReply.gzip(body).lastWrite }
private let bomb = LoopbackReply.bomb(8 << 20).lastWrite

extension LoopbackReply {
    fileprivate var lastWrite: Data {
        guard case .write(let data) = steps.last?.kind else { return Data() }
        return data
    }
}

extension HostileReply {
    fileprivate mutating func pack(_ coding: String, _ packed: Data) {
        lines.append(Data("Content-Encoding: \(coding)".utf8))
        body = packed
    }
}

extension HostileReply.Random {
    fileprivate mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    fileprivate mutating func data(_ count: ClosedRange<Int>) -> Data {
        Data((0..<int(count)).map { _ in byte() })
    }
}
