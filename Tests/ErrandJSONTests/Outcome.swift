import ErrandJSON
import Foundation

/// What a decoder makes of a document, as text: the value, or everything in the error but its underlying one.
enum Outcome {
    /// The outcomes of both decoders, which have the same strategies.
    static func both<Value: Decodable>(
        _ type: Value.Type, _ document: Data, _ strategies: Strategies = Strategies()
    ) -> (ours: String, theirs: String) {
        (
            of { try strategies.ours.decode(type, from: document) },
            of { try strategies.theirs.decode(type, from: document) }
        )
    }

    static func of<Value>(_ decode: () throws -> Value) -> String {
        do {
            return text(try decode())
        } catch let error as DecodingError {
            return text(error)
        } catch {
            // What JSONDecoder throws inside a model for a malformed text or number; it becomes this at the end.
            return "\(Swift.type(of: error))" == "JSONError" ? malformed : "\(error)"
        }
    }

    private static let malformed = text(
        DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: [], debugDescription: "The given data was not valid JSON.")))

    private static func text(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context): "mismatch of \(type) \(text(context))"
        case .valueNotFound(let type, let context): "no value of \(type) \(text(context))"
        case .keyNotFound(let key, let context): "no key \(text(key)) \(text(context))"
        case .dataCorrupted(let context): "corrupted \(text(context))"
        @unknown default: "an unknown error"
        }
    }

    private static func text(_ context: DecodingError.Context) -> String {
        "at \(context.codingPath.map { text($0) }): \(context.debugDescription)"
    }

    static func text(_ key: any CodingKey) -> String {
        "\(key.stringValue)/\(key.intValue.map { "\($0)" } ?? "-")"
    }

    /// A description in which equal values look equal: numbers by their bits, dictionaries in order.
    static func text(_ value: Any) -> String {
        switch value {
        case let value as Double: "\(value) \(value.isNaN ? 0 : value.bitPattern)"
        case let value as Float: "\(value) \(value.isNaN ? 0 : value.bitPattern)"
        case let value as Date: "date \(value.timeIntervalSinceReferenceDate.bitPattern)"
        case let value as Data: "data \(Array(value))"
        case let value as URL: "url \(value.absoluteString)"
        case let value as Decimal: "decimal \(value) \(value.exponent)"
        case let value as String: "\(Array(value.utf8))"
        case let value as [Any]: "[\(value.map { text($0) }.joined(separator: ", "))]"
        case let value as [Int: Any]: "\(value.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" })"
        case let value as [String: Any]:
            "{\(value.map { "\(text($0.key)): \(text($0.value))" }.sorted().joined(separator: ", "))}"
        default:
            switch Mirror(reflecting: value) {
            case let mirror where mirror.displayStyle == .optional:
                mirror.children.first.map { text($0.value) } ?? "nil"
            case let mirror where mirror.displayStyle == .struct && !mirror.children.isEmpty:
                "(\(mirror.children.map { "\($0.label ?? ""): \(text($0.value))" }.joined(separator: ", ")))"
            default: "\(value)"
            }
        }
    }
}

/// The strategies of a decoder, for both of them.
struct Strategies: Sendable, CustomStringConvertible {
    enum Keys: CaseIterable { case asWritten, snakeCase, custom }
    enum Dates: CaseIterable { case deferred, seconds, milliseconds, custom }
    enum Bytes: CaseIterable { case base64, deferred, custom }

    var keys = Keys.asWritten
    var dates = Dates.deferred
    var bytes = Bytes.base64
    var convertsFloats = false

    var description: String { "\(keys) \(dates) \(bytes) \(convertsFloats)" }

    var ours: FastJSONDecoder {
        var decoder = FastJSONDecoder()
        switch keys {
        case .asWritten: break
        case .snakeCase: decoder.keyDecodingStrategy = .convertFromSnakeCase
        case .custom: decoder.keyDecodingStrategy = .custom(Self.convert)
        }
        switch dates {
        case .deferred: break
        case .seconds: decoder.dateDecodingStrategy = .secondsSince1970
        case .milliseconds: decoder.dateDecodingStrategy = .millisecondsSince1970
        case .custom: decoder.dateDecodingStrategy = .custom(Self.date)
        }
        switch bytes {
        case .base64: break
        case .deferred: decoder.dataDecodingStrategy = .deferredToData
        case .custom: decoder.dataDecodingStrategy = .custom(Self.data)
        }
        if convertsFloats {
            decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        }
        return decoder
    }

    var theirs: JSONDecoder {
        let decoder = JSONDecoder()
        switch keys {
        case .asWritten: break
        case .snakeCase: decoder.keyDecodingStrategy = .convertFromSnakeCase
        case .custom: decoder.keyDecodingStrategy = .custom(Self.convert)
        }
        switch dates {
        case .deferred: break
        case .seconds: decoder.dateDecodingStrategy = .secondsSince1970
        case .milliseconds: decoder.dateDecodingStrategy = .millisecondsSince1970
        case .custom: decoder.dateDecodingStrategy = .custom(Self.date)
        }
        switch bytes {
        case .base64: break
        case .deferred: decoder.dataDecodingStrategy = .deferredToData
        case .custom: decoder.dataDecodingStrategy = .custom(Self.data)
        }
        if convertsFloats {
            decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        }
        return decoder
    }

    /// Two keys become one, and the path counts.
    @Sendable private static func convert(_ path: [any CodingKey]) -> any CodingKey {
        let last = path.last?.stringValue ?? ""
        return AnyKey(path.count > 2 ? last : last == "b" ? "a" : last.uppercased() == "C" ? "id" : last)
    }

    @Sendable private static func date(_ decoder: any Decoder) throws -> Date {
        Date(timeIntervalSince1970: try decoder.singleValueContainer().decode(Double.self) * 2)
    }

    @Sendable private static func data(_ decoder: any Decoder) throws -> Data {
        Data(try decoder.singleValueContainer().decode(String.self).utf8.reversed())
    }
}

struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) { (stringValue, intValue) = (name, nil) }
    init(stringValue: String) { self.init(stringValue) }
    init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}
