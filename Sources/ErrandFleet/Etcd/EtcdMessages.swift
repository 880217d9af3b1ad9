import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The messages of etcd's JSON gateway. Numbers of 64 bits are texts, keys and values are Base64, and a member whose
// value is zero, empty or false is left out.

/// A number of 64 bits.
struct EtcdNumber: Codable, Sendable, Hashable {
    let value: UInt64

    init(_ value: UInt64) {
        self.value = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = UInt64(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no number")
        }
        self.value = value
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}

struct EtcdHeader: Decodable, Sendable {
    var revision: EtcdNumber?
}

struct EtcdPair: Decodable, Sendable {
    var value: Data?
    var modRevision: EtcdNumber?

    private enum CodingKeys: String, CodingKey {
        case value
        case modRevision = "mod_revision"
    }

    /// The record; `nil` for a pair that was removed.
    func record() -> FleetRecord {
        FleetRecord(bytes: Array(value ?? Data()), revision: FleetRevision(modRevision?.value ?? 0))
    }
}

struct EtcdRange: Codable, Sendable {
    var key: Data
}

struct EtcdRangeAnswer: Decodable, Sendable {
    var header: EtcdHeader
    var kvs: [EtcdPair]?

    var record: FleetRecord? { kvs?.first?.record() }
}

/// A write under a condition. If the condition does not hold, the record is read.
struct EtcdTransaction: Encodable, Sendable {
    struct Comparison: Encodable, Sendable {
        var key: Data
        // A record that is not there has the revision 0.
        var revision: EtcdNumber

        private enum CodingKeys: String, CodingKey {
            case key, target, result
            case revision = "mod_revision"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(key, forKey: .key)
            try container.encode("MOD", forKey: .target)
            try container.encode("EQUAL", forKey: .result)
            try container.encode(revision, forKey: .revision)
        }
    }

    struct Put: Encodable, Sendable {
        var key, value: Data
    }

    struct Operation: Encodable, Sendable {
        var put: Put?
        var remove: EtcdRange?
        var read: EtcdRange?

        private enum CodingKeys: String, CodingKey {
            case put = "request_put"
            case remove = "request_delete_range"
            case read = "request_range"
        }
    }

    var compare: [Comparison]
    var success: [Operation]
    var failure: [Operation]

    /// Replaces the record, or removes it, if it has that revision.
    init(_ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?) {
        let key = Data(key.utf8)
        compare = [Comparison(key: key, revision: EtcdNumber(revision?.number ?? 0))]
        let range = EtcdRange(key: key)
        success = [bytes.map { Operation(put: Put(key: key, value: Data($0))) } ?? Operation(remove: range)]
        failure = [Operation(read: range)]
    }
}

struct EtcdTransactionAnswer: Decodable, Sendable {
    struct Part: Decodable, Sendable {
        var range: EtcdRangeAnswer?

        private enum CodingKeys: String, CodingKey {
            case range = "response_range"
        }
    }

    var header: EtcdHeader
    /// Left out if the comparison has failed.
    var succeeded: Bool?
    var responses: [Part]?
}

struct EtcdWatchRequest: Encodable, Sendable {
    struct Creation: Encodable, Sendable {
        var key: Data
        var start: EtcdNumber

        private enum CodingKeys: String, CodingKey {
            case key
            case start = "start_revision"
        }
    }

    var creation: Creation

    private enum CodingKeys: String, CodingKey {
        case creation = "create_request"
    }
}

/// A line of a watch.
struct EtcdWatchLine: Decodable, Sendable {
    struct Event: Decodable, Sendable {
        /// `DELETE`; left out for a write.
        var type: String?
        var kv: EtcdPair?
    }

    struct Result: Decodable, Sendable {
        var header: EtcdHeader?
        var created: Bool?
        var canceled: Bool?
        var cancelReason: String?
        var compactRevision: EtcdNumber?
        var events: [Event]?

        private enum CodingKeys: String, CodingKey {
            case header, created, canceled, events
            case cancelReason = "cancel_reason"
            case compactRevision = "compact_revision"
        }
    }

    var result: Result?
    var error: EtcdFailure?
}

struct EtcdFailure: Decodable, Sendable {
    var error: String?
    var message: String?
    var code: Int?
    /// The code in the error of a stream.
    var grpcCode: Int?

    private enum CodingKeys: String, CodingKey {
        case error, message, code
        case grpcCode = "grpc_code"
    }
}

struct EtcdUser: Encodable, Sendable {
    var name, password: String
}

struct EtcdToken: Decodable, Sendable {
    var token: String
}

struct EtcdStatus: Decodable, Sendable {
    var version: String
    var errors: [String]?
}
