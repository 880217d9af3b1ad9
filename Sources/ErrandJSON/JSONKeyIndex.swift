/// What finds the members of an object, where a search from the first one is not enough.
///
/// It is an object of its own so that the search of a small object does not look at more than whether there is one.
final class JSONMemberTable {
    /// How often a large object is searched before an index of it is made: together, these searches take about as long
    /// as that. So a model that reads one member of many pays for no index, and one that reads all of them, in whatever
    /// order, takes a time proportional to their number.
    static let searchesBeforeIndex = 8

    /// How often the object has been searched.
    var searches = 0
    var index: JSONKeyIndex?
    /// The values by key, where equal keys may differ in their bytes.
    var members: [String: Int]?
}

/// The members of a large object by their keys, which are in ASCII.
///
/// A table of the keys on the tape, in which a key is at the place of its hash, or at the next one that is free. The
/// hash is that of the standard library, whose seed no server knows, so keys cannot be chosen to have the same place.
struct JSONKeyIndex {
    /// The entries of keys. Zero is none, because it is never that of a key. There are twice as many places as members.
    private var keys: [UInt32]

    init(of object: Int, in document: JSONDocument) throws {
        var size = 64
        while size < 2 * document[object].length { size *= 2 }
        keys = [UInt32](repeating: 0, count: size)
        let end = document[object].place
        var index = object + 1
        while index < end {
            try document.step()
            // The first of several members with the same key counts.
            let place = place(of: document.bytes(of: document[index]), in: document)
            if keys[place] == 0 { keys[place] = UInt32(truncatingIfNeeded: index) }
            index = document.index(after: index + 1)
        }
    }

    /// Returns the entry of the value of a member; `nil` if there is none.
    func value(of name: UnsafeBufferPointer<UInt8>, in document: JSONDocument) -> Int? {
        let key = Int(keys[place(of: name, in: document)])
        return key == 0 ? nil : key + 1
    }

    /// Returns the place of a key, or the free one where it belongs.
    private func place(of name: UnsafeBufferPointer<UInt8>, in document: JSONDocument) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(name))
        let mask = keys.count - 1
        var place = hasher.finalize() & mask
        while keys[place] != 0 {
            let key = document[Int(keys[place])]
            if key.length == name.count, document.bytes(of: key).hasSameBytes(as: name) { break }
            place = (place + 1) & mask
        }
        return place
    }
}
