import Errand

/// What every store accepts as a key and as a record.
package enum FleetRecordRules {
    package static let longestKey = 512
    package static let largestRecord = 512 << 10

    /// Throws `.invalid` if no record can have that key.
    package static func check(_ key: String) throws(FleetStoreError) {
        guard !key.isEmpty, key.utf8.count <= longestKey else {
            let start = key.prefix(40).debugDescription
            throw FleetStoreError(
                .invalid, "a key has 1 to \(longestKey) bytes; one that begins with \(start) has \(key.utf8.count)")
        }
        guard key.utf8.allSatisfy(isAllowed) else {
            throw FleetStoreError(
                .invalid, "the key \(key.debugDescription) has a character other than letters, digits, - . _ and /")
        }
    }

    /// Throws `.invalid` if no record can have that key, or if the bytes are too many for a record.
    package static func check(_ key: String, _ bytes: [UInt8]?) throws(FleetStoreError) {
        try check(key)
        guard let bytes, bytes.count > largestRecord else { return }
        throw FleetStoreError(
            .invalid, "a record has at most \(largestRecord) bytes; the one for \(key) has \(bytes.count)")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "/"):
            true
        default: false
        }
    }
}

extension FleetStoreError: CancellationFailure {
    /// The error of a canceled task.
    package static var cancelled: FleetStoreError { FleetStoreError(.cancelled, "the task was canceled") }
}
