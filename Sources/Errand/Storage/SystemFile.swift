#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files in which Linux describes itself, such as those in `/proc`. A read to the end alone shows their lengths.
enum SystemFile {
    /// Returns the text of the file at that path; `nil` if it cannot be read.
    static func text(at path: String) -> String? {
        // Whoever asks does without what the system does not say.
        guard let file = try? OpenFile(path, .reading) else { return nil }
        // Nothing was written to it that closing could lose.
        defer { try? file.close() }
        var text = Data()
        // What has been read so far may be half of a line.
        while let piece = try? file.read(upTo: 1 << 16, at: text.count) {
            if piece.isEmpty { return String(decoding: text, as: UTF8.self) }
            text += piece
        }
        return nil
    }
}
#endif
