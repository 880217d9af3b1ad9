import Synchronization

/// A message for people that is shown once, by the first caller that takes it.
package final class Notice: Sendable {
    private let text: String
    private let isTaken = Atomic(false)

    package init(_ text: String) {
        self.text = text
    }

    package func take() -> String? {
        // The load keeps a cache line from bouncing between the callers that come later.
        guard !isTaken.load(ordering: .relaxed), !isTaken.exchange(true, ordering: .relaxed) else { return nil }
        return text
    }
}
