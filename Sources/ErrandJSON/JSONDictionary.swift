import Synchronization

/// A dictionary whose keys are strings.
protocol StringKeyed: SendableMetatype {
    init(membersOf decoder: JSONValueDecoder) throws
}

extension Dictionary: StringKeyed where Key == String, Value: Decodable {
    init(membersOf decoder: JSONValueDecoder) throws {
        let (document, entry) = (decoder.document, decoder.entry)
        let end = document[entry].place
        self.init(minimumCapacity: document[entry].length)
        var index = entry + 1
        while index < end {
            try document.step()
            let name = try decoder.name(index)
            // With a key strategy, `JSONDecoder` decodes further members with the same key too.
            if document.changesKeys {
                let value = try decoder.value(index + 1, as: Value.self, at: JSONPathKey.name(name))
                if self[name] == nil { self[name] = value }
            } else if self[name] == nil {
                self[name] = try decoder.value(index + 1, as: Value.self, at: JSONPathKey.member(name))
            }
            index = document.index(after: index + 1)
        }
    }
}

extension JSONValueDecoder {
    /// Decodes a dictionary to whose keys no key strategy applies.
    func dictionary<Value>(_ type: any StringKeyed.Type, _ entry: Int, at key: some CodingKey) throws -> Value {
        if document[entry].isNull { throw error(.null, [String: Any].self, entry, at: key) }
        try requireObject(entry, at: key)
        let dictionary = try withDecoder(of: entry, at: key) { decoder in
            // The initializer of a dictionary reads all keys before any value.
            if !document.changesKeys, document[entry].kind == .irregularObject { try decoder.requireNames() }
            return try type.init(membersOf: decoder)
        }
        // It is an instance of that type.
        guard let value = dictionary as? Value else { throw error(.otherType, Value.self, entry, at: key) }
        return value
    }

    fileprivate func name(_ entry: Int) throws -> String {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.string(entry) }
    }

    private func requireNames() throws {
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            try document.step()
            _ = try name(index)
            index = document.index(after: index + 1)
        }
    }
}

/// The types that have been found to be dictionaries whose keys are strings, or to be none.
///
/// To ask a type for a conformance takes long if it has none, so the answers are kept for the whole process. There are
/// as many as the program has types that are decoded and as large as a pointer.
enum StringKeyedTypes {
    private static let known = Mutex<[ObjectIdentifier: (any StringKeyed.Type)?]>([:])

    static func find(_ type: any Decodable.Type) -> (any StringKeyed.Type)? {
        let id = ObjectIdentifier(type)
        if let answer = known.withLock({ $0[id] }) { return answer }
        let answer = type as? any StringKeyed.Type
        known.withLock { $0[id] = .some(answer) }
        return answer
    }
}

extension JSONDocument {
    /// Returns the type as that of a dictionary whose keys are strings; `nil` for any other.
    @inline(__always)
    func stringKeyed(_ type: any Decodable.Type) -> (any StringKeyed.Type)? {
        // Most objects in a document are of the type of the one before.
        if let (last, answer) = lastStringKeyed, last == ObjectIdentifier(type) { return answer }
        let answer = StringKeyedTypes.find(type)
        lastStringKeyed = (ObjectIdentifier(type), answer)
        return answer
    }
}
