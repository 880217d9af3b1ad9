/// A part of a value that does not take part in comparing it.
struct Uncompared<Part: Sendable>: Sendable, Hashable {
    var value: Part?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
