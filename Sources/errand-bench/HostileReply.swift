import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A valid HTTP/1.1 response with up to three changes that a hostile server might make.
///
/// Everything follows from a number: the server needs only the number in a request's path, and a reply that exposed a
/// bug can be reproduced.
struct HostileReply {
    /// A random number generator with a seed (SplitMix64).
    struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }

        mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
        mutating func chance(_ percent: Int) -> Bool { int(1...100) <= percent }
        mutating func one<Element>(of all: [Element]) -> Element { all[int(0...all.count - 1)] }
    }

    enum Framing { case length, chunks, close }
    enum Coding { case none, gzip, brotli, zstd }

    /// The bytes before the head.
    var before = Data()
    var statusLine = "HTTP/1.1 200 OK"
    /// The header lines, except those that frame the body.
    var lines: [Data] = [Data("Content-Type: application/json".utf8)]
    var framing = Framing.length
    /// The length that is sent instead of the body's true length.
    var length: String?
    var body: Data
    /// The chunks that are sent instead of the body's.
    var chunks: Data?
    /// The lines after the last chunk.
    var trailer = Data()
    /// Surplus bytes after the response.
    var surplus = Data()
    /// How the connection ends; `nil` if it is kept.
    var end: LoopbackReply.Step?
    /// The number of bytes after which it ends; `nil` for after all of them.
    var cut: Int?
    /// The pause after each byte.
    var drip: Duration?
    /// A change to the encoded bytes.
    var scramble: (@Sendable (inout Data, inout Random) -> Void)?

    /// The changes of this reply. Only the server applies them, because that costs more than choosing them.
    let mutations: [HostileMutation]
    let number: Int

    init(number: Int) {
        var random = Random(state: UInt64(truncatingIfNeeded: number))
        self.number = number
        body = Self.body(number)
        mutations = (0..<random.one(of: [0, 1, 1, 1, 1, 2, 2, 3])).map { _ in random.one(of: HostileMutation.all) }
    }

    /// The only correct body for that number.
    static func body(_ number: Int) -> Data { Data("{\"id\": \(number)}".utf8) }

    /// The allowed outcomes, by the names of `Outcome`; `nil` for any typed error, or the value.
    var allowed: Set<String>? {
        switch mutations.count {
        case 0: ["value"]
        case 1: mutations[0].allowed
        default: nil
        }
    }

    /// Whether the bytes are no longer those of one response.
    var isScrambled: Bool {
        mutations.contains { ["bytes that were changed", "a part that comes twice"].contains($0.name) }
    }

    /// Returns the reply for the loopback server.
    func reply() -> LoopbackReply {
        var random = Random(state: ~UInt64(truncatingIfNeeded: number))
        var changed = self
        changed.framing = random.one(of: [.length, .length, .chunks, .close])
        if random.chance(15) { changed.body.append(Data(repeating: UInt8(ascii: " "), count: random.int(1...20_000))) }
        for mutation in mutations { mutation.change(&changed, &random) }
        return changed.written(&random)
    }

    private func written(_ random: inout Random) -> LoopbackReply {
        var head = lines
        var written = body
        switch framing {
        case .length: head.append(Data("Content-Length: \(length ?? "\(body.count)")".utf8))
        case .close: break
        case .chunks:
            head.append(Data("Transfer-Encoding: chunked".utf8))
            written = chunks ?? Self.chunk(body) + Data("0\r\n".utf8)
            written += trailer + Data("\r\n".utf8)
        }
        let separator = Data("\r\n".utf8)
        var bytes = before + Data(statusLine.utf8) + separator
        for line in head { bytes += line + separator }
        bytes += separator + written + surplus
        scramble?(&bytes, &random)
        if let cut { bytes = bytes.prefix(cut % max(1, bytes.count)) }
        let write = drip.map { LoopbackReply.Step.drip(bytes, every: $0) } ?? .write(bytes)
        let last = end ?? (framing == .close ? .close : nil)
        return LoopbackReply([write] + (last.map { [$0] } ?? []))
    }

    static func chunk(_ body: Data) -> Data {
        Data("\(String(body.count, radix: 16))\r\n".utf8) + body + Data("\r\n".utf8)
    }
}
