#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The format of the files in which a cache on a disk keeps its responses.
///
/// A file is a prefix of 40 bytes, the fields of the response, and its body, decoded as it was received. All numbers
/// are little-endian:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `ERRANDC` and the version |
/// | 8 | 8 | the length of the body |
/// | 16 | 8 | the length of the fields |
/// | 24 | 8 | the checksum of the body |
/// | 32 | 8 | the checksum of the 32 bytes before and of the fields |
///
/// Both checksums begin with a number that depends on the place of the file, so a file that was moved to another place
/// is damaged there. Neither the URL nor any credential of the request is in it: the name of the file says what it
/// answers, by a hash with a key.
struct CacheEntryFile: Sendable {
    static let prefixLength = 40
    /// The version of the format. A file with another one is removed.
    private static let version: UInt8 = 2
    private static let magic = Array("ERRANDC".utf8) + [version]

    let bodyLength: Int
    let fieldsLength: Int
    private let bodySum: UInt64
    private let sum: UInt64

    /// The length of the file.
    var length: Int { Self.prefixLength + fieldsLength + bodyLength }

    /// Reads the prefix of a file with that length.
    init(prefix: UnsafeRawBufferPointer, fileLength: Int) throws(DamagedEntry) {
        guard prefix.count >= Self.prefixLength, prefix.prefix(8).elementsEqual(Self.magic) else {
            throw DamagedEntry()
        }
        var reader = StoredFieldReader(UnsafeRawBufferPointer(rebasing: prefix[8..<Self.prefixLength]))
        let (body, fields): (UInt64, UInt64) = (try reader.number(), try reader.number())
        guard let body = Int(exactly: body), let fields = Int(exactly: fields),
            body <= fileLength, fields <= fileLength, body + fields == fileLength - Self.prefixLength
        else { throw DamagedEntry() }
        (bodyLength, fieldsLength) = (body, fields)
        bodySum = try reader.number()
        sum = try reader.number()
    }

    /// Reads the fields, which follow the prefix in `head`.
    func fields(in head: UnsafeRawBufferPointer, seed: UInt64) throws(DamagedEntry) -> Fields {
        let end = Self.prefixLength + fieldsLength
        guard head.count >= end, Self.headSum(of: head[..<end], seed: seed) == sum else { throw DamagedEntry() }
        var reader = StoredFieldReader(UnsafeRawBufferPointer(rebasing: head[Self.prefixLength..<end]))
        return try Fields(&reader)
    }

    func isIntact(_ body: UnsafeRawBufferPointer, seed: UInt64) -> Bool {
        body.count == bodyLength && Checksum.of(body, seed: seed) == bodySum
    }

    /// The checksum of the prefix, without the checksum itself, and of the fields.
    private static func headSum(of head: Slice<UnsafeRawBufferPointer>, seed: UInt64) -> UInt64 {
        let first = Checksum.of(UnsafeRawBufferPointer(rebasing: head.prefix(32)), seed: seed)
        return Checksum.of(UnsafeRawBufferPointer(rebasing: head.dropFirst(prefixLength)), seed: first)
    }

    /// Returns the bytes of the file before the body.
    static func head(of fields: Fields, body: Data, seed: UInt64) -> [UInt8] {
        var written = StoredFieldWriter()
        fields.write(to: &written)
        var prefix = StoredFieldWriter()
        for byte in magic { prefix.add(byte) }
        prefix.add(UInt64(body.count))
        prefix.add(UInt64(written.bytes.count))
        prefix.add(body.withUnsafeBytes { Checksum.of($0, seed: seed) })
        prefix.add(UInt64(0))
        var head = prefix.bytes + written.bytes
        let sum = head.withUnsafeBytes { headSum(of: $0[...], seed: seed) }
        withUnsafeBytes(of: sum.littleEndian) { head.replaceSubrange(32..<40, with: $0) }
        return head
    }
}

extension CacheEntryFile {
    /// What a file says about a response, besides its body.
    struct Fields: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let lifetime: Double
        let isGiven: Bool
        let initialAge: Double
        /// When it was received, and the clock to which the instant belongs: that of the machine since its start.
        let received: Date
        let instant: Instant?
        let clock: UInt64
        let control: String
        let variant: CacheVariant
        var tags: [String]
        let origin: Origin
        /// Hashes, with the key of the folder, of the URL of the request, and of its path and those above it.
        let url: UInt64
        let paths: [UInt64]

        init(of response: StoredResponse, _ secret: CacheFolderKey, clock: UInt64) {
            status = response.status
            headers = response.headers
            lifetime = response.freshness.lifetime
            isGiven = response.freshness.isGiven
            initialAge = response.freshness.initialAge
            received = response.freshness.received.date
            instant = response.freshness.received.instant
            self.clock = clock
            control = response.control.text
            variant = response.variant
            tags = response.tags.sorted()
            origin = response.url.origin
            url = secret.number(of: response.url)
            paths = CacheRemoval.paths(to: response.url).map { secret.number(ofPath: $0, at: response.url.origin) }
        }

        init(_ reader: inout StoredFieldReader) throws(DamagedEntry) {
            status = Int(try reader.number(UInt16.self))
            var fields: [HTTPHeaders.Field] = []
            let count: UInt32 = try reader.number()
            for _ in 0..<count {
                var field = HTTPHeaders.Field(name: try reader.text(), value: try reader.text())
                field.isSecret = try reader.boolean()
                fields.append(field)
            }
            headers = HTTPHeaders(fields)
            (lifetime, isGiven) = (try reader.decimal(), try reader.boolean())
            initialAge = try reader.decimal()
            received = Date(timeIntervalSinceReferenceDate: try reader.decimal())
            instant = try reader.boolean() ? Instant(nanoseconds: try reader.number()) : nil
            clock = try reader.number()
            control = try reader.text()
            let names = try reader.texts()
            var values: [String?] = []
            for _ in names { values.append(try reader.optionalText()) }
            variant = CacheVariant(names: names, values: values)
            tags = try reader.texts()
            let (scheme, host) = (try reader.text(), try reader.text())
            origin = Origin(scheme: scheme, host: host, port: Int(try reader.number(UInt16.self)))
            url = try reader.number()
            var paths: [UInt64] = []
            let levels: UInt8 = try reader.number()
            for _ in 0..<levels { paths.append(try reader.number()) }
            self.paths = paths
            guard reader.isAtEnd, lifetime >= 0, initialAge >= 0 else { throw DamagedEntry() }
        }

        fileprivate func write(to writer: inout StoredFieldWriter) {
            writer.add(UInt16(clamping: status))
            writer.add(UInt32(clamping: headers.fields.count))
            for field in headers.fields {
                writer.add(field.name)
                writer.add(field.value)
                writer.add(field.isSecret)
            }
            writer.add(lifetime)
            writer.add(isGiven)
            writer.add(initialAge)
            writer.add(received.timeIntervalSinceReferenceDate)
            writer.add(instant != nil)
            if let instant { writer.add(instant.nanoseconds) }
            writer.add(clock)
            writer.add(control)
            writer.add(variant.names)
            for value in variant.values { writer.add(value) }
            writer.add(tags)
            writer.add(origin.scheme)
            writer.add(origin.host)
            writer.add(UInt16(clamping: origin.port))
            writer.add(url)
            writer.add(UInt8(clamping: paths.count))
            for path in paths { writer.add(path) }
        }

        /// Returns the response. Its instant counts only if `ownClock` is the clock to which it belongs.
        func response(to url: HTTPURL, body: Data, ownClock: UInt64) -> StoredResponse {
            let moment = CacheMoment(date: received, instant: clock == ownClock ? instant : nil)
            return StoredResponse(
                url: url, status: status, headers: headers, body: body,
                freshness: CacheFreshness(
                    lifetime: lifetime, isGiven: isGiven, initialAge: initialAge, received: moment),
                control: CacheControl([control]), variant: variant, tags: Set(tags))
        }

        /// The number of its tags and groups.
        var names: Int { tags.count + CacheGroups.names(in: headers.values("Cache-Groups")).count }

        /// What tells the response from others.
        var identity: StoredResponse.Identity {
            StoredResponse.Identity(variant: variant, received: received, status: status, headers: headers)
        }
    }
}

extension CacheControl {
    /// Directives of a response that are read as these were.
    fileprivate var text: String {
        var directives: [String] = []
        if noStore { directives.append("no-store") }
        if noCache { directives.append("no-cache") }
        if mustRevalidate { directives.append("must-revalidate") }
        if mustUnderstand { directives.append("must-understand") }
        if isForStoring { directives.append("private") }
        if let maxAge { directives.append("max-age=\(maxAge)") }
        if let staleWhileRevalidate { directives.append("stale-while-revalidate=\(staleWhileRevalidate)") }
        if let staleIfError { directives.append("stale-if-error=\(staleIfError)") }
        return directives.joined(separator: ", ")
    }
}
