/// The faults of the next requests.
struct FaultPlan: Sendable {
    private struct Entry: Sendable {
        var fault: ExampleServer.Fault
        var left: Int
        var segments: [Substring]
    }

    private var entries: [Entry] = []

    mutating func add(_ fault: ExampleServer.Fault, count: Int, on path: String) {
        guard count > 0 else { return }
        entries.append(Entry(fault: fault, left: count, segments: path.split(separator: "/")))
    }

    /// Removes and returns the fault for a request with that path; if there are several, the one that was requested
    /// first.
    mutating func next(for segments: [String]) -> ExampleServer.Fault? {
        guard let index = entries.firstIndex(where: { segments.starts(with: $0.segments, by: { $0 == $1 }) }) else {
            return nil
        }
        entries[index].left -= 1
        defer { entries.removeAll { $0.left == 0 } }
        return entries[index].fault
    }

    mutating func removeAll() {
        entries = []
    }
}
