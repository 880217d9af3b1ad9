/// The decoder of one value: its entry, and its place in the path.
///
/// The path is not built before somebody asks for it; until then it is the chain of the decoders around this one. When
/// a model has been decoded, its decoder is used for the next one, unless the model has kept it.
final class JSONValueDecoder: Decoder {
    let document: JSONDocument
    private(set) var entry: Int
    private var parent: JSONValueDecoder?
    private var key: any CodingKey
    private var spare: JSONValueDecoder?
    /// The decoder of a nested container, until this one is used for the next model.
    private var nested: JSONValueDecoder?
    /// Whether `withDecoder` is going to take this one back.
    private var isBorrowed = false
    /// The path, once it has been asked for: a model that tries several types asks with every error.
    private var knownPath: [any CodingKey]?
    /// What finds the members, where a search from the first one is not enough.
    var table: JSONMemberTable?

    init(_ document: JSONDocument, entry: Int, parent: JSONValueDecoder?, key: some CodingKey) {
        self.document = document
        self.entry = entry
        self.parent = parent
        self.key = key
    }

    var userInfo: [CodingUserInfoKey: Any] { document.userInfo }

    var codingPath: [any CodingKey] {
        if let knownPath { return knownPath }
        var path: [any CodingKey] = []
        var decoder: JSONValueDecoder? = self
        while let current = decoder {
            if !current.key.isNone { path.append(current.key) }
            decoder = current.parent
        }
        path.reverse()
        knownPath = path
        return path
    }

    /// Returns the path to a value in this one.
    func path(to key: some CodingKey) -> [any CodingKey] {
        key.isNone ? codingPath : codingPath + [key]
    }

    /// Returns a decoder of a value in this one, which the caller may keep.
    func decoder(of entry: Int, at key: some CodingKey) -> JSONValueDecoder {
        JSONValueDecoder(document, entry: entry, parent: self, key: key)
    }

    /// Calls the closure with a decoder of a value in this one.
    @inline(__always)
    func withDecoder<Value>(
        of entry: Int, at key: some CodingKey, _ body: (JSONValueDecoder) throws -> Value
    ) throws -> Value {
        try document.step()
        guard var decoder = spare else {
            var decoder = decoder(of: entry, at: key)
            decoder.isBorrowed = true
            defer { takeBack(&decoder) }
            return try body(decoder)
        }
        spare = nil
        decoder.reuse(for: entry, at: key, in: self)
        decoder.isBorrowed = true
        defer { takeBack(&decoder) }
        return try body(decoder)
    }

    /// Whether this is the decoder of the whole document, that key stands for its own value, and no model has it.
    @inline(__always)
    func isRoot(for key: some CodingKey) -> Bool { parent == nil && !isBorrowed && key.isNone }

    /// Calls the closure with this decoder, which is that of its own value.
    @inline(__always)
    func withSelf<Value>(_ body: (JSONValueDecoder) throws -> Value) throws -> Value {
        try document.step()
        isBorrowed = true
        defer {
            isBorrowed = false
            if nested != nil { takeBackNested() }
        }
        return try body(self)
    }

    /// Returns a decoder for a nested container, which is used again after that container.
    func nestedDecoder(of entry: Int, at key: some CodingKey) -> JSONValueDecoder {
        // The nested decoder refers to this one too, so it is only remembered where that is certain to end.
        guard isBorrowed, nested == nil else { return decoder(of: entry, at: key) }
        let decoder: JSONValueDecoder
        if let spare {
            decoder = spare
            self.spare = nil
            decoder.reuse(for: entry, at: key, in: self)
        } else {
            decoder = self.decoder(of: entry, at: key)
        }
        decoder.isBorrowed = true
        nested = decoder
        return decoder
    }

    @inline(__always)
    private func reuse(for entry: Int, at key: some CodingKey, in parent: JSONValueDecoder) {
        self.entry = entry
        self.parent = parent
        self.key = key
    }

    @inline(__always)
    private func takeBack(_ decoder: inout JSONValueDecoder) {
        decoder.isBorrowed = false
        if decoder.nested != nil { decoder.takeBackNested() }
        guard isKnownUniquelyReferenced(&decoder) else { return }
        decoder.parent = nil
        if decoder.table != nil { decoder.table = nil }
        if decoder.knownPath != nil { decoder.knownPath = nil }
        spare = decoder
    }

    @inline(never)
    private func takeBackNested() {
        guard var decoder = nested else { return }
        nested = nil
        takeBack(&decoder)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try prepareMembers()
        return KeyedDecodingContainer(JSONKeyedContainer<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try requireArray(entry, at: JSONPathKey.none)
        return JSONUnkeyedContainer(self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension CodingKey {
    @inline(__always)
    fileprivate var isNone: Bool {
        // A dynamic cast takes several times as long, for each element of each path.
        type(of: self) == JSONPathKey.self && unsafeBitCast(self, to: JSONPathKey.self).isNone
    }
}

// MARK: Errors

extension JSONValueDecoder {
    /// Reads a value in this one.
    @inline(__always)
    func read<Value>(
        _ entry: Int, at key: some CodingKey, _ body: (Int) throws(JSONMisfit) -> Value
    ) throws -> Value {
        do throws(JSONMisfit) {
            return try body(entry)
        } catch {
            throw self.error(error, Value.self, entry, at: key)
        }
    }

    @inline(never)
    func error(_ misfit: JSONMisfit, _ type: Any.Type, _ entry: Int, at key: some CodingKey) -> any Error {
        do { try document.step() } catch { return error }
        return decodingError(misfit, type, entry, at: key)
    }

    private func decodingError(
        _ misfit: JSONMisfit, _ type: Any.Type, _ entry: Int, at key: some CodingKey
    ) -> DecodingError {
        switch misfit {
        case .null:
            .valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: path(to: key),
                    debugDescription: "Cannot get value of type \(type) -- found null value instead"))
        case .otherType:
            .typeMismatch(
                type,
                DecodingError.Context(
                    codingPath: path(to: key),
                    debugDescription: "Expected to decode \(type) but found \(document[entry].kind.name) instead."))
        case .fault(let reason): document.error(reason, at: entry)
        }
    }

    func corrupted(_ description: String, at key: some CodingKey) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path(to: key), debugDescription: description))
    }

    @inline(__always)
    func requireArray(_ entry: Int, at key: some CodingKey) throws {
        guard document[entry].kind == .array else { throw noContainer([Any].self, "unkeyed", entry, at: key) }
    }

    @inline(__always)
    func requireObject(_ entry: Int, at key: some CodingKey) throws {
        guard document[entry].isObject else { throw noContainer([String: Any].self, "keyed", entry, at: key) }
    }

    @inline(never)
    private func noContainer(
        _ type: Any.Type, _ container: String, _ entry: Int, at key: some CodingKey
    ) -> any Error {
        guard document[entry].isNull else { return error(.otherType, type, entry, at: key) }
        return DecodingError.valueNotFound(
            type,
            DecodingError.Context(
                codingPath: path(to: key),
                debugDescription: "Cannot get \(container) decoding container -- found null value instead"))
    }
}

extension JSONValueDecoder {
    /// Returns a decoder of the member with that name. A key strategy may have renamed `data_list` to `dataList`; the
    /// name that the server writes finds it all the same.
    func decoder(below name: String) throws -> JSONValueDecoder {
        try prepareMembers()
        if let entry = try member(name) { return decoder(of: entry, at: JSONPathKey.name(name)) }
        let plain = name.plainName
        guard let other = memberNames.first(where: { $0.plainName == plain }), let entry = try member(other) else {
            throw DecodingError.keyNotFound(
                JSONPathKey.name(name),
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "No value associated with key \"\(name)\"."))
        }
        return decoder(of: entry, at: JSONPathKey.name(other))
    }
}

extension String {
    fileprivate var plainName: String { lowercased().replacing("_", with: "") }
}
