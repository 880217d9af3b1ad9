/// The members of an object.
///
/// As in `JSONDecoder`, the first of several members with the same key counts, and keys are equal if their strings are:
/// canonically equivalent ones too. Keys in ASCII are equal only if their bytes are, so an object with such keys is
/// searched from its beginning, and an index is made once a large one has been searched for long. For any other keys a
/// dictionary is made.
extension JSONValueDecoder {
    /// An object with more members gets an index at some time.
    private static let mostSearched = 32
    /// How many times as many keys may be compared as an object has, before an index of it is made: about as many as
    /// cost what the index does. So a model that reads one member of many pays for no index, and one that reads all of
    /// them, in whatever order, takes a time proportional to their number.
    private static let searchesBeforeIndex = 8

    /// Makes what is needed to find members. Throws if the value is no object, or if it has a malformed key.
    @inline(__always)
    func prepareMembers() throws {
        guard document[self.entry].kind == .object, !document.changesKeys || document.isSnakeCase else {
            try requireObject(self.entry, at: JSONPathKey.none)
            if members == nil { members = try membersByKey() }
            return
        }
    }

    /// Returns the entry of the value of a member; `nil` if there is none.
    @inline(__always)
    func member(_ name: String) throws -> Int? {
        guard members == nil else { return members?[name] }
        var name = name
        let isLarge = document[entry].length > Self.mostSearched
        let found = try name.withUTF8 { name in
            if isLarge { return try searchLarge(name) }
            return document.isSnakeCase ? searchSnakeCase(name) : search(name)
        }
        guard found == nil, members != nil || !name.utf8.allSatisfy({ $0 < 0x80 }) else { return found }
        // Some characters beyond ASCII are equivalent to one in it. The keys have been read before: none is malformed.
        if members == nil { members = try membersByKey() }
        return members?[name]
    }

    @inline(__always)
    private func search(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        var compared = 0
        return search(name, &compared)
    }

    /// Searches the members, and counts those that it has compared.
    @inline(__always)
    private func search(_ name: UnsafeBufferPointer<UInt8>, _ compared: inout Int) -> Int? {
        let (document, count) = (self.document, name.count)
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            let key = document[index]
            if key.length == count, document.bytes(of: key).hasSameBytes(as: name) { return index + 1 }
            index = document.index(after: index + 1)
            compared &+= 1
        }
        return nil
    }

    /// Searches an object with many members. Where the members have been put into a dictionary instead, it finds none.
    @inline(never)
    private func searchLarge(_ name: UnsafeBufferPointer<UInt8>) throws -> Int? {
        if let index { return index.value(of: name, in: document) }
        try document.step()
        if document.isSnakeCase {
            // To compare one such key takes as long as to compare several others.
            compared += document[entry].length
            if compared <= Self.searchesBeforeIndex * document[entry].length { return searchSnakeCase(name) }
            members = try membersByKey()
            return nil
        }
        guard compared > Self.searchesBeforeIndex * document[entry].length else { return search(name, &compared) }
        let index = try JSONKeyIndex(of: entry, in: document)
        self.index = index
        return index.value(of: name, in: document)
    }

    private func searchSnakeCase(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            if SnakeCase.isEqual(document.bytes(of: document[index]), name) { return index + 1 }
            index = document.index(after: index + 1)
        }
        return nil
    }

    /// Calls the closure with each member: its key, as the strategy converts it, and the entry of its value.
    private func forEachMember(_ body: (String, Int) -> Void) throws {
        let path: [any CodingKey] = document.changesKeys && !document.isSnakeCase ? codingPath : []
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            try document.step()
            let key = try read(index, at: JSONPathKey.none) { index throws(JSONMisfit) in try document.string(index) }
            switch document.options.keyDecodingStrategy {
            case .useDefaultKeys: body(key, index + 1)
            case .convertFromSnakeCase: body(SnakeCase.camelCase(key), index + 1)
            case .custom(let convert): body(convert(path + [JSONPathKey.name(key)]).stringValue, index + 1)
            }
            index = document.index(after: index + 1)
        }
    }

    @inline(never)
    private func membersByKey() throws -> [String: Int] {
        var members: [String: Int] = [:]
        members.reserveCapacity(document[entry].length)
        try forEachMember { key, index in
            if members[key] == nil { members[key] = index }
        }
        return members
    }

    /// The key of an object with one member that no strategy changes; otherwise `nil`.
    var onlyMemberName: String? {
        guard document[entry].length == 1, !document.changesKeys else { return nil }
        return try? document.string(entry + 1)
    }

    /// The keys in the order of the document, each of them once.
    var memberNames: [String] {
        var (names, seen): ([String], Set<String>) = ([], [])
        let count = document[entry].length
        names.reserveCapacity(count)
        seen.reserveCapacity(count)
        // The keys have been read before, for any container.
        try? forEachMember { key, _ in
            if seen.insert(key).inserted { names.append(key) }
        }
        return names
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the bytes are those of another buffer with the same count.
    @inline(__always)
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let left = UnsafeRawPointer(baseAddress), let right = UnsafeRawPointer(other.baseAddress) else {
            return true
        }
        if count >= 8 {
            var offset = 0
            repeat {
                guard
                    left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                        == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                else { return false }
                offset += 8
            } while offset <= count - 8
            // The last eight bytes may have been compared in part.
            return left.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
                == right.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        }
        if count >= 4 {
            return left.loadUnaligned(as: UInt32.self) == right.loadUnaligned(as: UInt32.self)
                && left.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
                    == right.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
        }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }
}
