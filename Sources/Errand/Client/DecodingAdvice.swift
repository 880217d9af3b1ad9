import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Advice for a response that does not match its model, but would with another option of the decoder.
///
/// The response is read once more for it. Of the response, the advice shows only a key that the model has too, up to
/// its underscores, and the key of a list that the model expects.
struct DecodingAdvice {
    /// A longer response is not read once more.
    private static let largestBody = 1 << 20
    /// A longer key is no name that somebody has chosen for a list.
    private static let longestKey = 40

    private let document: JSONNode

    /// Returns advice on an error of a decoder; `nil` if there is none, or if the response is not JSON.
    static func text(on error: any Error, decoding body: Data) -> String? {
        guard let error = error as? DecodingError, body.count <= largestBody else { return nil }
        // It is advice on an error, and not worth another one.
        return (try? FastJSONDecoder().read(body) { DecodingAdvice(document: $0).text(on: error) }) ?? nil
    }

    private func text(on error: DecodingError) -> String? {
        switch error {
        case .keyNotFound(let key, let context): text(onMissing: key.stringValue, at: context.codingPath)
        case .typeMismatch(let type, let context) where type == [Any].self && context.codingPath.isEmpty: textOnList
        case .typeMismatch(let type, let context): text(onDateAt: context.codingPath, readAs: type)
        default: nil
        }
    }

    private func text(onMissing key: String, at path: [any CodingKey]) -> String? {
        guard let names = document.value(at: path)?.memberNames else { return nil }
        if names.contains(key) {
            let converted = SnakeCase.camelCase(key)
            guard converted != key else { return nil }
            return "the decoder renames `\(key)` to `\(converted)`, because of `keys: .snakeCase`"
        }
        guard let name = names.first(where: { SnakeCase.camelCase($0) == key }) else { return nil }
        return "the response has `\(name)`: set `decoder = .json(keys: .snakeCase)`"
    }

    /// The response is an object, and the model a list, which is often the only one in the object.
    private var textOnList: String? {
        let lists = document.listNames
        guard lists.count == 1, let name = lists.first, name.utf8.count <= Self.longestKey,
            name.utf8.allSatisfy({ PercentEncoding.isAlphanumeric($0) || $0 == UInt8(ascii: "_") })
        else { return nil }
        return "the response has a list at `\(name)`: add `.unwrapping(\"\(name)\")` to the endpoint"
    }

    /// A `Date` is read from a number or a text, and the error names only those.
    private func text(onDateAt path: [any CodingKey], readAs type: Any.Type) -> String? {
        guard let node = document.value(at: path) else { return nil }
        let (text, number) = ((try? node.text()) ?? nil, (try? node.number()) ?? nil)
        if type == Double.self, let text, Date(iso8601: text, withFractions: true) != nil {
            return "if this is a `Date`, set `decoder = .json(dates: .iso8601)`"
        }
        guard type == String.self, text == nil, let number else { return nil }
        // From 2001 to 2100.
        let plausible = 978_307_200.0...4_102_444_800
        if plausible.contains(number) {
            return "if this is a `Date`, set `decoder = .json(dates: .secondsSince1970)`"
        }
        guard plausible.contains(number / 1000) else { return nil }
        return "if this is a `Date`, set `decoder = .json(dates: .millisecondsSince1970)`"
    }
}

extension JSONNode {
    /// The names of the members.
    fileprivate var memberNames: [String] {
        var names: [String] = []
        // What comes before a malformed key counts.
        try? forEachMember { name, _ in names.append(name) }
        return names
    }

    /// The names of the members that are arrays.
    fileprivate var listNames: [String] {
        var names: [String] = []
        // As in `memberNames`.
        try? forEachMember { name, value in
            if value.isArray { names.append(name) }
        }
        return names
    }

    /// Returns the value at a path whose keys a decoder may have converted.
    fileprivate func value(at path: [any CodingKey]) -> JSONNode? {
        var node = self
        for key in path {
            guard let next = node.value(of: key) else { return nil }
            node = next
        }
        return node
    }

    private func value(of key: any CodingKey) -> JSONNode? {
        var (found, position): (JSONNode?, Int) = (nil, 0)
        let name = key.stringValue
        // As in `memberNames`.
        try? forEachElement { element in
            if position == key.intValue { found = element }
            position += 1
        }
        try? forEachMember { other, value in
            if found == nil, other == name || SnakeCase.camelCase(other) == name { found = value }
        }
        return found
    }
}
