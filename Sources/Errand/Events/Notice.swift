import Synchronization

/// A message for developers that is shown once, by the first caller that takes it.
package final class Notice: Sendable {
    private let text: String
    private let console: @Sendable (String) -> Void
    private let isTaken = Atomic(false)
    private let isPrinted = Atomic(false)

    /// Creates a notice that is printed on standard error.
    package convenience init(_ text: String) {
        self.init(text) { StandardError.print($0) }
    }

    /// Creates a notice that `console` prints.
    package init(_ text: String, console: @escaping @Sendable (String) -> Void) {
        self.text = text
        self.console = console
    }

    /// More texts than these are not known: a program has a few transports, and each always warns of the same.
    private static let mostKnown = 16
    private static let known = Lock<[String: Notice]>([:])

    /// Returns the notice with that text, which is the same for all who ask for it.
    static func shared(_ text: String) -> Notice {
        known.withLock { known in
            if let notice = known[text] { return notice }
            let notice = Notice(text)
            if known.count < mostKnown { known[text] = notice }
            return notice
        }
    }

    package func take() -> String? {
        // The load keeps a cache line from bouncing between the callers that come later.
        guard !isTaken.load(ordering: .relaxed), !isTaken.exchange(true, ordering: .relaxed) else { return nil }
        return text
    }

    /// Prints the message for whoever runs a debug build. Does nothing the next time.
    func print() {
        #if DEBUG
        guard !isPrinted.load(ordering: .relaxed), !isPrinted.exchange(true, ordering: .relaxed) else { return }
        console("Errand: \(text)")
        #endif
    }
}
