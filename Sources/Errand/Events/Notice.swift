import Synchronization

/// A sentence for people that is told once: whoever takes it first has it.
package final class Notice: Sendable {
    private let text: String
    private let isTaken = Atomic(false)

    package init(_ text: String) {
        self.text = text
    }

    package func take() -> String? {
        // The load keeps a line of the cache from going to and fro between those who come later.
        guard !isTaken.load(ordering: .relaxed), !isTaken.exchange(true, ordering: .relaxed) else { return nil }
        return text
    }
}
