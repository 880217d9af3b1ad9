/// The members of an object.
///
/// As in `JSONDecoder`, the first of several members with the same key counts, and keys are equal if their strings are:
/// canonically equivalent ones too. Keys in ASCII are equal only if their bytes are, so an object with such keys is
/// searched from its beginning, and an index is made once a large one has been searched for long. For any other keys a
/// dictionary is made.
extension JSONValueDecoder {
    private static let mostSearched = 32

    /// Makes what is needed to find members. Throws if the value is no object, or if it has a malformed key.
    @inline(__always)
    func prepareMembers() throws {
        let entry = document[self.entry]
        guard entry.kind == .object, entry.length <= Self.mostSearched,
            !document.changesKeys || document.isSnakeCase
        else {
            try requireObject(self.entry, at: JSONPathKey.none)
            if table == nil { table = try makeTable() }
            return
        }
    }

    @inline(never)
    private func makeTable() throws -> JSONMemberTable {
        let table = JSONMemberTable()
        // A large object with such keys is searched too, until it has been searched for long.
        if document[entry].kind != .object || document.changesKeys && !document.isSnakeCase {
            table.members = try membersByKey()
        }
        return table
    }

    /// Returns the entry of the value of a member; `nil` if there is none.
    @inline(__always)
    func member(_ name: String) throws -> Int? {
        if let table { return try member(name, table) }
        var name = name
        let found = name.withUTF8 { document.isSnakeCase ? searchSnakeCase($0) : search($0) }
        guard found == nil, !name.utf8.allSatisfy({ $0 < 0x80 }) else { return found }
        return try equivalentMember(name)
    }

    /// Some characters beyond ASCII are equivalent to one in it.
    @inline(never)
    private func equivalentMember(_ name: String) throws -> Int? {
        let table = self.table ?? JSONMemberTable()
        self.table = table
        let members = try table.members ?? membersByKey()
        table.members = members
        return members[name]
    }

    @inline(never)
    private func member(_ name: String, _ table: JSONMemberTable) throws -> Int? {
        if let members = table.members { return members[name] }
        try document.step()
        var name = name
        let found: Int? = try name.withUTF8 { name in
            if let index = table.index { return index.value(of: name, in: document) }
            table.searches += 1
            if table.searches <= JSONMemberTable.searchesBeforeIndex {
                return document.isSnakeCase ? searchSnakeCase(name) : search(name)
            }
            guard !document.isSnakeCase else { return nil }
            let index = try JSONKeyIndex(of: entry, in: document)
            table.index = index
            return index.value(of: name, in: document)
        }
        guard found == nil else { return found }
        let isConverted = document.isSnakeCase && table.searches > JSONMemberTable.searchesBeforeIndex
        return isConverted || !name.utf8.allSatisfy { $0 < 0x80 } ? try equivalentMember(name) : nil
    }

    @inline(__always)
    private func search(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        let (document, count) = (self.document, name.count)
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            let key = document[index]
            if key.length == count, document.bytes(of: key).hasSameBytes(as: name) { return index + 1 }
            index = document.index(after: index + 1)
        }
        return nil
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
            switch document.options.keyDecodingStrategy.kind {
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
