import ErrandTesting
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sound answer in HTTP/1.1 to which up to three things were done that a hostile server might do.
///
/// All of it follows from a number, so that the server needs no more than the number in a request's path, and a reply
/// that did harm can be had again.
struct HostileReply {
    /// The random numbers that follow from a seed (SplitMix64).
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

    /// What is written before the head.
    var before = Data()
    var statusLine = "HTTP/1.1 200 OK"
    /// The lines of the head, but for those that frame the body.
    var lines: [Data] = [Data("Content-Type: application/json".utf8)]
    var framing = Framing.length
    /// What stands in the place of the body's true length.
    var length: String?
    var body: Data
    /// The chunks as they are written, in the place of the body's.
    var chunks: Data?
    /// Lines after the last chunk.
    var trailer = Data()
    /// Bytes that nobody has asked for.
    var surplus = Data()
    /// How it ends; `nil` if the connection is kept.
    var end: LoopbackReply.Step?
    /// After how many bytes it ends; `nil` for after all of them.
    var cut: Int?
    /// The pause after each byte.
    var drip: Duration?
    /// What is done with the bytes as they would be written.
    var scramble: (@Sendable (inout Data, inout Random) -> Void)?

    /// What is done to it. Carrying it out costs more than knowing it, so that is left to the server.
    let mutations: [HostileMutation]
    let number: Int

    init(number: Int) {
        var random = Random(state: UInt64(truncatingIfNeeded: number))
        self.number = number
        body = Self.body(number)
        mutations = (0..<random.one(of: [0, 1, 1, 1, 1, 2, 2, 3])).map { _ in random.one(of: HostileMutation.all) }
    }

    /// The only answer that is right for that number.
    static func body(_ number: Int) -> Data { Data("{\"id\": \(number)}".utf8) }

    /// How the call may end, by the names of `Outcome`; `nil` for any typed error, or the value.
    var allowed: Set<String>? {
        switch mutations.count {
        case 0: ["value"]
        case 1: mutations[0].allowed
        default: nil
        }
    }

    /// Whether its bytes are no longer those of one answer.
    var isScrambled: Bool {
        mutations.contains { ["bytes that were changed", "a part that comes twice"].contains($0.name) }
    }

    /// What the server does.
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
