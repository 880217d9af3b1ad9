/// Which request headers are credentials, by their names.
///
/// A name is looked at once: each request asks for all of its headers.
final class SecretFields: Sendable {
    /// Requests do not have more different names than this, unless a program makes them up.
    private static let capacity = 256

    private let names: SecretNames
    private let known = Lock<[String: Bool]>([:])
    /// The names in the last request without credentials: most requests of a client have the same.
    private let plain = Lock<[String]>([])

    init(_ names: SecretNames) {
        self.names = names
    }

    func contains(_ name: String) -> Bool {
        if let isSecret = known.withLock({ $0[name] }) { return isSecret }
        let isSecret = names.contains(name, in: .header)
        known.withLock { known in
            if known.count < Self.capacity { known[name] = isSecret }
        }
        return isSecret
    }

    private func isSecret(_ field: HTTPHeaders.Field) -> Bool { field.isSecret || contains(field.name) }

    /// Returns the credentials of a request, as one text; `nil` if it has none.
    func credentials(in headers: HTTPHeaders) -> String? {
        guard !isPlain(headers) else { return nil }
        guard headers.fields.contains(where: isSecret) else {
            plain.withLock { $0 = headers.fields.map(\.name) }
            return nil
        }
        let secret = headers.fields.filter(isSecret)
        return secret.map { "\($0.name.lowercased()): \($0.value)" }.sorted().joined(separator: "\n")
    }

    private func isPlain(_ headers: HTTPHeaders) -> Bool {
        plain.withLock { names in
            names.count == headers.fields.count
                && zip(names, headers.fields).allSatisfy { $0 == $1.name && !$1.isSecret }
        }
    }
}
