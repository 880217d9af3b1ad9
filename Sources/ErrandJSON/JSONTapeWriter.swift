/// The tape while the parser writes it.
///
/// The open containers form a list: until a container is closed, the place in its entry is the index of the container
/// around it, and the length the number of elements before the one that is being parsed.
struct JSONTapeWriter {
    private(set) var tape: UnsafeMutablePointer<UInt64>
    private(set) var count = 0
    private var capacity: Int

    init(documentSize: Int) {
        // A usual document has a token in eight bytes, or in more.
        capacity = documentSize / 8 + 16
        tape = .allocate(capacity: capacity)
    }

    @inline(__always)
    mutating func append(_ entry: JSONEntry) {
        if count == capacity { grow() }
        tape[count] = entry.bits
        count &+= 1
    }

    @inline(never)
    private mutating func grow() {
        capacity += capacity / 2
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        larger.update(from: tape, count: count)
        tape.deallocate()
        tape = larger
    }

    /// Appends a container to one that has `count` elements so far, and returns its index.
    @inline(__always)
    mutating func open(_ kind: JSONEntry.Kind, in container: Int, count length: Int) -> Int {
        let index = count
        if index > 0 {
            let around = JSONEntry(bits: tape[container])
            tape[container] = JSONEntry(around.kind, length: length, place: around.place).bits
        }
        append(JSONEntry(kind, place: container))
        return index
    }

    /// Completes the entry of a container. Returns the container around it, its elements so far, and its last byte.
    @inline(__always)
    mutating func close(_ container: Int, count length: Int) -> (container: Int, count: Int, closer: UInt8) {
        let entry = JSONEntry(bits: tape[container])
        tape[container] = JSONEntry(entry.kind, length: length, place: count).bits
        let around = JSONEntry(bits: tape[entry.place])
        return (entry.place, around.length, around.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    }

    mutating func markIrregular(_ object: Int) {
        let entry = JSONEntry(bits: tape[object])
        tape[object] = JSONEntry(.irregularObject, length: entry.length, place: entry.place).bits
    }
}
