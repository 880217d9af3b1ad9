import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a file of a ``FileFleetStore`` holds: four lines of text, and the record.
struct RecordFile: Equatable {
    private static let title = "errand-fleet-record 1"
    /// The most that the four lines take.
    static let longestHead = 1024

    let key: String
    let revision: FleetRevision
    let bytes: [UInt8]

    var record: FleetRecord { FleetRecord(bytes: bytes, revision: revision) }

    /// The content of the file.
    var data: Data {
        let head = "\(Self.title)\n\(key)\n\(revision.number) kept\n"
        return Data("\(head)\(String(Self.checksum(head, bytes), radix: 16))\n".utf8) + Data(bytes)
    }

    init(key: String, revision: FleetRevision, bytes: [UInt8]) {
        self.key = key
        self.revision = revision
        self.bytes = bytes
    }

    /// Reads the content of a file; `nil` if it is damaged.
    init?(_ data: Data) {
        var rest = Array(data)[...]
        func line() -> String? {
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard line() == Self.title, let key = line(), let state = line(), let checksum = line() else { return nil }
        let words = state.split(separator: " ")
        guard words.count == 2, let number = UInt64(words[0]), words[1] == "kept" else { return nil }
        guard UInt64(checksum, radix: 16) == Self.checksum("\(Self.title)\n\(key)\n\(state)\n", Array(rest)) else {
            return nil
        }
        self.init(key: key, revision: FleetRevision(number), bytes: Array(rest))
    }

    private static func checksum(_ head: String, _ bytes: [UInt8]) -> UInt64 {
        (Array(head.utf8) + bytes).withUnsafeBytes { Checksum.of($0, seed: 0) }
    }
}
