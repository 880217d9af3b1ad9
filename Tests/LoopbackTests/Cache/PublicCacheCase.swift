import Errand
import ErrandTestSupport
import Foundation

/// A case of the public HTTP cache tests, as far as its members matter here.
struct PublicCacheCase: Decodable, Sendable {
    struct Suite: Decodable {
        let tests: [PublicCacheCase]
    }

    enum Kind: String, Decodable {
        case required, optimal, check
    }

    /// A header as it is sent or expected: a name, a name with a value, or a name with an operator and an operand.
    struct Field: Decodable, Sendable {
        let name: String
        /// A text, or a number of seconds from now for a date.
        var text: String?
        var offset: Int?
        /// The operand of `=` or `>`, which is then the text.
        var operand: String?
        /// Whether the client has to receive the field as it was sent.
        var isChecked = true

        init(from decoder: any Decoder) throws {
            guard var parts = try? decoder.unkeyedContainer() else {
                name = try decoder.singleValueContainer().decode(String.self)
                return
            }
            name = try parts.decode(String.self)
            if let seconds = try? parts.decode(Int.self) {
                offset = seconds
            } else {
                text = try parts.decode(String.self)
            }
            guard !parts.isAtEnd else { return }
            if let flag = try? parts.decode(Bool.self) {
                isChecked = flag
            } else if let number = try? parts.decode(Int.self) {
                operand = String(number)
            } else {
                operand = try parts.decode(String.self)
            }
        }
    }

    struct Step: Decodable, Sendable {
        var setup: Bool?
        var setup_tests: [String]?
        var pause_after: Bool?
        var response_pause: Int?
        var disconnect: Bool?
        var magic_locations: Bool?
        var check_body: Bool?
        var cache: String?
        var filename: String?
        var query_arg: String?
        var request_method: String?
        var request_body: String?
        var request_headers: [Field]?
        var response_status: Status?
        var response_headers: [Field]?
        var response_body: String?
        var expected_type: String?
        var expected_status: Int?
        var expected_method: String?
        var expected_response_text: String?
        var expected_request_headers: [Field]?
        var expected_response_headers: [Field]?
        var expected_response_headers_missing: [Field]?
        /// The members that are `null`, which is not the same as missing.
        var nulls: Set<String> = []

        private enum CodingKeys: String, CodingKey {
            case setup, setup_tests, pause_after, response_pause, disconnect, magic_locations, check_body, cache,
                filename
            case query_arg, request_method, request_body, request_headers, response_status, response_headers
            case response_body, expected_type, expected_status, expected_method, expected_response_text
            case expected_request_headers, expected_response_headers, expected_response_headers_missing
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            func member<Value: Decodable>(_ key: CodingKeys) throws -> Value? {
                try members.decodeIfPresent(Value.self, forKey: key)
            }
            setup = try member(.setup)
            setup_tests = try member(.setup_tests)
            pause_after = try member(.pause_after)
            response_pause = try member(.response_pause)
            disconnect = try member(.disconnect)
            magic_locations = try member(.magic_locations)
            check_body = try member(.check_body)
            cache = try member(.cache)
            filename = try member(.filename)
            query_arg = try member(.query_arg)
            request_method = try member(.request_method)
            request_body = try member(.request_body)
            request_headers = try member(.request_headers)
            response_status = try member(.response_status)
            response_headers = try member(.response_headers)
            response_body = try member(.response_body)
            expected_type = try member(.expected_type)
            expected_status = try member(.expected_status)
            expected_method = try member(.expected_method)
            expected_response_text = try member(.expected_response_text)
            expected_request_headers = try member(.expected_request_headers)
            expected_response_headers = try member(.expected_response_headers)
            expected_response_headers_missing = try member(.expected_response_headers_missing)
            for key in members.allKeys where try members.decodeNil(forKey: key) { nulls.insert(key.rawValue) }
        }
    }

    /// A status code and its reason.
    struct Status: Decodable, Sendable {
        let code: Int

        init(from decoder: any Decoder) throws {
            var parts = try decoder.unkeyedContainer()
            code = try parts.decode(Int.self)
        }
    }

    let id: String
    let kind: Kind
    let requests: [Step]

    private enum CodingKeys: String, CodingKey { case id, kind, requests }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(String.self, forKey: .id)
        kind = try members.decodeIfPresent(Kind.self, forKey: .kind) ?? .required
        requests = try members.decode([Step].self, forKey: .requests)
    }

    /// Whether the case needs neither time to pass nor a connection to break.
    var isImmediate: Bool {
        requests.allSatisfy { $0.pause_after != true && $0.response_pause == nil && $0.disconnect != true }
    }

    /// The file of the cases; `nil` if it is not there. It stays outside of the repository.
    static let file: URL? = {
        let given = ProcessInfo.processInfo.environment["ERRAND_CACHE_TESTS"].map { URL(fileURLWithPath: $0) }
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { package.deleteLastPathComponent() }
        let usual = package.deletingLastPathComponent().appendingPathComponent("shared/cache-tests.json")
        return [given, usual].compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }
    }()

    static func all() throws -> [PublicCacheCase] {
        guard let file else { return [] }
        return try JSONDecoder().decode([Suite].self, from: Data(contentsOf: file)).flatMap(\.tests)
    }
}
