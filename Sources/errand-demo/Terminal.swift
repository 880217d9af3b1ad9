#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The output: with colors and a moving progress bar on a terminal, as plain lines in a pipe.
struct Terminal: Sendable {
    enum Style: String {
        case title = "1"
        case faint = "2"
        case good = "32"
        case bad = "31"
        case busy = "36"
    }

    private let isWatched: Bool

    init() {
        let environment = ProcessInfo.processInfo.environment
        isWatched = isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR"] == nil && environment["TERM"] != "dumb"
    }

    func say(_ text: String = "", _ style: Style? = nil) {
        put(painted(text, style) + "\n")
    }

    func painted(_ text: String, _ style: Style?) -> String {
        guard isWatched, let style else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// Updates a progress bar in place; in a pipe, prints only the full one.
    func showProgress(_ done: Int, of total: Int, _ what: String) {
        let width = 32
        let filled = total > 0 ? min(width, done * width / total) : 0
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let line = "    \(painted(bar, .busy)) \(done) of \(total) \(what)"
        if isWatched {
            put("\r\(line)\(done >= total ? "\n" : "")")
        } else if done >= total {
            put(line + "\n")
        }
    }

    /// Writes without buffering, also into a pipe.
    private func put(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            // The reader of the pipe has exited.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
