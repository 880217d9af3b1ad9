/// A collection of anything that can be decoded: an array, a set, or a dictionary whose keys are strings.
///
/// The standard library's initializers take longer for each element than most elements do.
protocol JSONCollection: SendableMetatype {
    static var isDictionary: Bool { get }

    /// Decodes all elements or members of the decoder's entry, which is an array or an object, as the type demands.
    init(contentsOf decoder: JSONValueDecoder) throws
}

extension Array: JSONCollection where Element: Decodable {
    static var isDictionary: Bool { false }

    init(contentsOf decoder: JSONValueDecoder) throws {
        self.init()
        reserveCapacity(decoder.firstCapacity(of: MemoryLayout<Element>.stride))
        var elements = JSONUnkeyedContainer(decoder)
        while !elements.isAtEnd { append(try elements.decode(Element.self)) }
    }
}

extension Set: JSONCollection where Element: Decodable {
    static var isDictionary: Bool { false }

    init(contentsOf decoder: JSONValueDecoder) throws {
        self.init(minimumCapacity: decoder.firstCapacity(of: MemoryLayout<Element>.stride))
        var elements = JSONUnkeyedContainer(decoder)
        while !elements.isAtEnd { insert(try elements.decode(Element.self)) }
    }
}

extension Dictionary: JSONCollection where Key == String, Value: Decodable {
    static var isDictionary: Bool { true }

    init(contentsOf decoder: JSONValueDecoder) throws {
        let (document, entry) = (decoder.document, decoder.entry)
        let end = document[entry].place
        let size = MemoryLayout<String>.stride + MemoryLayout<Value>.stride
        self.init(minimumCapacity: decoder.firstCapacity(of: size))
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
    /// How much memory a collection gets at most before its first element is decoded, which may fail.
    private static let firstBytes = 1 << 20

    /// Returns the capacity to begin with for elements of that size.
    fileprivate func firstCapacity(of size: Int) -> Int {
        min(document[entry].length, Self.firstBytes / max(1, size))
    }

    /// Decodes a collection. No key strategy applies to the keys of a dictionary.
    func collection<Value>(_ type: any JSONCollection.Type, _ entry: Int, at key: some CodingKey) throws -> Value {
        if type.isDictionary {
            if document[entry].isNull { throw error(.null, [String: Any].self, entry, at: key) }
            try requireObject(entry, at: key)
        }
        let collection = try withDecoder(of: entry, at: key) { decoder in
            // The initializer of a dictionary reads all keys before any value.
            if !document.changesKeys, document[entry].kind == .irregularObject { try decoder.requireNames() }
            return try type.init(contentsOf: decoder)
        }
        // It is an instance of that type.
        guard let value = collection as? Value else { throw error(.otherType, Value.self, entry, at: key) }
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

extension JSONDocument {
    /// Returns the type as a collection, if the entry can hold one; otherwise `nil`.
    @inline(__always)
    func collection(_ type: any Decodable.Type, for entry: JSONEntry) -> (any JSONCollection.Type)? {
        guard entry.isContainer || changesKeys, let collection = collection(type) else { return nil }
        // With a key strategy, a dictionary reports by itself what it is not.
        let fits = collection.isDictionary ? entry.isObject || changesKeys : entry.kind == .array
        return fits ? collection : nil
    }

    @inline(__always)
    private func collection(_ type: any Decodable.Type) -> (any JSONCollection.Type)? {
        // Most containers in a document are of the type of the one before.
        if let (last, answer) = lastCollection, last == ObjectIdentifier(type) { return answer }
        let answer = type as? any JSONCollection.Type
        lastCollection = (ObjectIdentifier(type), answer)
        return answer
    }
}
