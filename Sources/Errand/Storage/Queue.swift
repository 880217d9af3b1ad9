/// A queue: adding and removing cost O(1) on average, and what has been removed is released at once.
struct Queue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    /// The index of the first element: removing that of an array moves all others.
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let first = elements[head]
        elements[head] = nil
        head += 1
        if 2 * head >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Removes the first element that matches, wherever it is.
    mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        let index = elements[head...].firstIndex { $0.map(matches) ?? false }
        return index.flatMap { elements.remove(at: $0) }
    }
}
