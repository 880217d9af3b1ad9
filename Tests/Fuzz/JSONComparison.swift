import ErrandJSON
import FoundationEssentials

/// Decodes the same bytes with both decoders, as models that ask for everything and for some of it.
enum JSONComparison {
    static func holds(for bytes: Data) -> Bool {
        // The other decoder takes seconds to find out what is in hundreds of arrays in each other, and refuses zeros
        // with some exponents.
        guard depth(of: bytes) < 40, !hasZeroWithExponent(bytes) else {
            _ = try? FastJSONDecoder().decode(Value.self, from: bytes)
            return true
        }
        return same(Value.self, bytes) && same([Int].self, bytes) && same([Double].self, bytes)
            && same([String].self, bytes) && same(Model.self, bytes) && same([Float?].self, bytes)
            && same(Decimal.self, bytes) && same([[Double]].self, bytes) && same(Nothing.self, bytes)
    }

    private static func same<Model: Decodable>(_ type: Model.Type, _ bytes: Data) -> Bool {
        var ours = FastJSONDecoder()
        let theirs = JSONDecoder()
        guard outcome({ try ours.decode(type, from: bytes) }) == outcome({ try theirs.decode(type, from: bytes) })
        else {
            return false
        }
        ours.keyDecodingStrategy = .convertFromSnakeCase
        theirs.keyDecodingStrategy = .convertFromSnakeCase
        return outcome { try ours.decode(type, from: bytes) } == outcome { try theirs.decode(type, from: bytes) }
    }

    private static func outcome<Model>(_ decode: () throws -> Model) -> String {
        do {
            return "\(try decode())"
        } catch let error as DecodingError {
            switch error {
            case .typeMismatch(let type, let context): return "type \(type) \(text(context))"
            case .valueNotFound(let type, let context): return "value \(type) \(text(context))"
            case .keyNotFound(let key, let context): return "key \(key.stringValue) \(text(context))"
            case .dataCorrupted(let context): return "data \(text(context))"
            @unknown default: return "unknown"
            }
        } catch {
            return "\(error)"
        }
    }

    private static func text(_ context: DecodingError.Context) -> String {
        "\(context.codingPath.map { "\($0.stringValue) \($0.intValue ?? -1)" }) \(context.debugDescription)"
    }

    private static func depth(of bytes: Data) -> Int {
        var (depth, deepest) = (0, 0)
        for byte in bytes {
            if byte | 0x20 == UInt8(ascii: "{") { depth += 1 } else if byte | 0x20 == UInt8(ascii: "}") { depth -= 1 }
            deepest = max(deepest, depth)
        }
        return deepest
    }

    private static func hasZeroWithExponent(_ bytes: Data) -> Bool {
        var isZero = false
        for byte in bytes where byte != 0 {
            switch byte {
            case UInt8(ascii: "0"): isZero = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): if isZero { return true }
            case UInt8(ascii: "."): break
            default: isZero = false
            }
        }
        return false
    }

    private struct Nothing: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    private struct Model: Decodable {
        var id: Int8
        var firstName: String?
        var tags: [String]?
        var size: Double?
        var inner: [Model]?
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private indirect enum Value: Decodable, CustomStringConvertible {
        case scalar(String)
        case array([Value])
        case object([(String, Value)])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .scalar("null")
            } else if let value = try? container.decode(Bool.self) {
                self = .scalar("\(value)")
            } else if let value = try? container.decode(Int.self) {
                self = .scalar("\(value)")
            } else if let value = try? container.decode(Double.self) {
                self = .scalar("\(value.bitPattern)")
            } else if let value = try? container.decode(String.self) {
                self = .scalar("\(Array(value.utf8))")
            } else if let value = try? container.decode([Value].self) {
                self = .array(value)
            } else {
                // Not as a dictionary, which fails at any of its members that cannot be decoded: their order is random.
                let members = try decoder.container(keyedBy: Key.self)
                self = .object(
                    members.allKeys.map { key in
                        (key.stringValue, (try? members.decode(Value.self, forKey: key)) ?? .scalar("broken"))
                    })
            }
        }

        var description: String {
            switch self {
            case .scalar(let text): text
            case .array(let elements): "\(elements)"
            case .object(let members): "\(members.map { "\(Array($0.0.utf8)): \($0.1)" }.sorted())"
            }
        }
    }
}
