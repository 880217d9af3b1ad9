#if os(Linux)
/// A fault of libcurl that a server can exploit and that `CurlTransport` cannot avoid.
///
/// Faults that it works around, and those in what it does not use, are only in the article on versions of libcurl.
struct CurlFault: Sendable {
    /// Its CVE, or its issue number at libcurl.
    let name: String
    /// What a server can do.
    let harm: String
    let first: CurlVersion
    let last: CurlVersion

    static let all = [
        // Only by a Transfer-Encoding: libcurl reads its line before the shim refuses it.
        CurlFault("CVE-2022-32206", "a compressed response can take much memory", (7, 68, 0), (7, 83, 1)),
        CurlFault("#10146", "calls can wait for minutes", (7, 87, 0), (7, 87, 0)),
        CurlFault("#11426", "uploads over HTTP/2 can wait until their time is up", (8, 1, 0), (8, 1, 2)),
        CurlFault("CVE-2025-0665", "a descriptor of something else can be closed", (8, 11, 1), (8, 11, 1)),
        // Its first version is not known; 7.88.1 was attacked this way and did not use freed memory.
        CurlFault("CVE-2026-92392", "a refused upload over HTTP/2 can have freed memory used", (8, 0, 0), (8, 22, 0)),
    ]

    private init(
        _ name: String, _ harm: String, _ first: (Int, Int, Int), _ last: (Int, Int, Int)
    ) {
        self.name = name
        self.harm = harm
        self.first = CurlVersion(first)
        self.last = CurlVersion(last)
    }

    /// Returns the faults of that version, as far as its number says.
    static func all(of version: String) -> [CurlFault] {
        guard let version = CurlVersion(version) else { return [] }
        return all.filter { $0.first <= version && version <= $0.last }
    }

    /// Returns a warning about that version for a person; `nil` if none of the faults is known for it.
    static func warning(about version: String) -> String? {
        let faults = all(of: version).map { "\($0.name) (\($0.harm))" }
        guard !faults.isEmpty else { return nil }
        let known = faults.joined(separator: ", ")
        return "libcurl \(version) is known for faults that a server can use: \(known). "
            + "Update it, unless your distribution has mended them without a new version"
    }
}

/// A version by its numbers: 8.11.1 comes after 8.9.0.
struct CurlVersion: Comparable, Sendable {
    private let numbers: [Int]

    init(_ numbers: (Int, Int, Int)) {
        self.numbers = [numbers.0, numbers.1, numbers.2]
    }

    /// Reads `8.11.1` or `8.12.0-DEV`; `nil` if the text is not a version.
    init?(_ text: String) {
        let parts = text.prefix(before: "-").split(separator: ".", omittingEmptySubsequences: false)
        numbers = parts.compactMap { UInt16($0).map(Int.init) }
        guard numbers.count == 3, parts.count == 3 else { return nil }
    }

    static func < (one: CurlVersion, other: CurlVersion) -> Bool {
        one.numbers.lexicographicallyPrecedes(other.numbers)
    }
}

extension CurlTransport {
    private static let faultWarning = libraryVersion.flatMap(CurlFault.warning)

    /// The known faults of the libcurl that is used, by its version: those that a server can exploit and this transport
    /// cannot avoid, each in a sentence. A distribution may have fixed them without a new version.
    package static var knownFaults: [String] {
        libraryVersion.map { version in CurlFault.all(of: version).map { "\($0.name): \($0.harm)" } } ?? []
    }

    /// A warning about a development certificate, and about the libcurl that is used, if it is known for such faults.
    public var warning: String? {
        let warnings = [developmentCertificate?.warning, Self.faultWarning].compactMap(\.self)
        return warnings.isEmpty ? nil : warnings.joined(separator: "; ")
    }
}
#endif
