/// A part of a value that comparisons ignore.
struct Uncompared<Part: Sendable>: Sendable, Hashable {
    var value: Part?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
