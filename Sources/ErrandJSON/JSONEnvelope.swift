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
