#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A parsed document: its bytes and its tape.
///
/// It borrows the bytes. If a decoder or container outlives the call of the decoder, `keepBytes` copies them.
final class JSONDocument {
    /// The bytes, `count` of them.
    private(set) var bytes: UnsafePointer<UInt8>
    let count: Int
    let tape: UnsafeMutablePointer<UInt64>
    /// The index of an entry that is `null`, for what is missing.
    let missing: Int
    private var ownsBytes = false
    private var lines = JSONLines()
    /// What waits for the value; `nil` if the decoding cannot be stopped.
    private var recipient: (any Stoppable)?
    private var stepsToQuestion = JSONDocument.stepsBetweenQuestions

    let options: FastJSONDecoder
    let userInfo: [CodingUserInfoKey: Any]
    let changesKeys: Bool
    let isSnakeCase: Bool
    /// Some of the types that are known not to be collections that are read without their initializers.
    private var models = SIMD8<UInt>()
    /// The type that was last looked up by `collection`, and the answer.
    var lastCollection: (type: ObjectIdentifier, answer: (any JSONCollection.Type)?)?

    init(
        _ bytes: UnsafeBufferPointer<UInt8>, _ options: FastJSONDecoder, for recipient: (any Stoppable)? = nil
    ) throws(JSONFault) {
        let parsed = try JSONParser(bytes)
        guard let start = bytes.baseAddress else { throw JSONFault(.unexpectedEnd) }
        self.bytes = start
        count = bytes.count
        tape = parsed.tape
        missing = parsed.count
        self.recipient = recipient
        self.options = options
        userInfo = options.userInfo
        switch options.keyDecodingStrategy.kind {
        case .useDefaultKeys: (changesKeys, isSnakeCase) = (false, false)
        case .convertFromSnakeCase: (changesKeys, isSnakeCase) = (true, true)
        case .custom: (changesKeys, isSnakeCase) = (true, false)
        }
    }

    deinit {
        tape.deallocate()
        if ownsBytes { bytes.deallocate() }
    }

    /// Copies the bytes, which the caller is about to free.
    func keepBytes() {
        guard !ownsBytes else { return }
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        copy.update(from: bytes, count: count)
        bytes = UnsafePointer(copy)
        ownsBytes = true
    }

    @inline(__always)
    subscript(_ index: Int) -> JSONEntry { JSONEntry(bits: tape[index]) }

    /// The bytes of a text or number.
    @inline(__always)
    func bytes(of entry: JSONEntry) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + entry.place, count: entry.length)
    }

    /// Returns the index of the entry after a value.
    @inline(__always)
    func index(after index: Int) -> Int {
        let entry = self[index]
        return entry.isContainer ? entry.place : index + 1
    }

    /// Returns the error for a text or number that cannot be read, with its position.
    func error(_ reason: JSONFault.Reason, at index: Int) -> DecodingError {
        let all = UnsafeBufferPointer(start: bytes, count: count)
        return JSONFault(reason, at: lines.position(of: self[index].place, in: all)).decodingError
    }
}

// MARK: The end of interest

/// What waits for a decoded value, such as a call, and may be stopped before that is there.
package protocol Stoppable: AnyObject {
    /// Throws if the decoding has been stopped.
    func throwIfStopped() throws
}

extension JSONDocument {
    /// A step takes from twenty nanoseconds to ten microseconds, so the time between two questions is short, and they
    /// cost nothing that could be measured.
    private static let stepsBetweenQuestions = 256

    /// Counts a step; throws if the decoding has been stopped.
    ///
    /// It then throws at every further step too: a model may catch the error and try something else.
    @inline(__always)
    func step() throws {
        stepsToQuestion &-= 1
        if stepsToQuestion < 0 { try ask() }
    }

    /// Throws if the decoding has been stopped.
    @inline(never)
    func ask() throws {
        guard let recipient else {
            stepsToQuestion = .max
            return
        }
        stepsToQuestion = 0
        try recipient.throwIfStopped()
        stepsToQuestion = Self.stepsBetweenQuestions
    }

    /// Asks no more: the decoding is over, although a model may have kept its decoder.
    func stopAsking() {
        recipient = nil
    }
}

// MARK: Known models

extension JSONDocument {
    /// Returns whether a type, for that kind of value, is known to be no collection that is read without its
    /// initializer. The tables of those take ten times as long to find it out.
    @inline(__always)
    func isModel(_ type: Any.Type, of kind: JSONEntry.Kind) -> Bool {
        let (place, bits) = Self.place(of: type, kind)
        return models[place] == bits
    }

    func rememberModel(_ type: Any.Type, of kind: JSONEntry.Kind) {
        let (place, bits) = Self.place(of: type, kind)
        models[place] = bits
    }

    @inline(__always)
    private static func place(of type: Any.Type, _ kind: JSONEntry.Kind) -> (place: Int, bits: UInt) {
        // The address of a type is even.
        let bits = UInt(bitPattern: ObjectIdentifier(type)) | (kind == .array ? 1 : 0)
        return (Int((bits ^ bits >> 7) >> 4 & 7), bits)
    }
}

extension JSONDocument {
    @inline(__always)
    func bool(_ index: Int) throws(JSONMisfit) -> Bool {
        switch self[index].kind {
        case .yes: true
        case .no: false
        // `JSONDecoder` does not make an exception of null here.
        default: throw .otherType
        }
    }

    @inline(__always)
    func string(_ index: Int) throws(JSONMisfit) -> String {
        let entry = self[index]
        guard entry.isText else { throw entry.isNull ? .null : .otherType }
        return try String(json: bytes(of: entry), entry.kind)
    }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws(JSONMisfit) -> Value {
        let entry = self[index]
        guard entry.kind != .integer else { return try Value(jsonDigits: bytes(of: entry)) }
        guard entry.kind == .number else { throw entry.isNull ? .null : .otherType }
        return try Value(jsonNumber: bytes(of: entry))
    }

    @inline(__always)
    func float<Value: JSONFloat>(_ index: Int, as type: Value.Type = Value.self) throws(JSONMisfit) -> Value {
        let entry = self[index]
        guard entry.kind == .number || entry.kind == .integer else {
            if let value: Value = nonConforming(entry) { return value }
            throw entry.isNull ? .null : .otherType
        }
        return try Value(json: bytes(of: entry))
    }

    @inline(never)
    private func nonConforming<Value: JSONFloat>(_ entry: JSONEntry) -> Value? {
        let strategy = options.nonConformingFloatDecodingStrategy.kind
        guard case .convertFromString(let infinity, let negative, let nan) = strategy, entry.isText,
            entry.kind != .escaped
        else { return nil }
        let text = bytes(of: entry)
        if text.elementsEqual(infinity.utf8) { return .infinity }
        if text.elementsEqual(negative.utf8) { return -.infinity }
        return text.elementsEqual(nan.utf8) ? .nan : nil
    }
}

extension FixedWidthInteger {
    /// Reads a number with a fraction or an exponent that is an integer all the same, to the precision that
    /// `JSONDecoder` has for those.
    ///
    /// Rare, so all types share it: the compiler makes no copy for each.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    init(jsonNumber bytes: UnsafeBufferPointer<UInt8>) throws(JSONMisfit) {
        guard let number = JSONNumber(bytes) else { throw .fault(.malformedNumber) }
        let double = Double(number, writtenAs: bytes)
        guard let value = Self(exactly: double) else { throw .fault(.unrepresentable) }
        guard double.magnitude >= 0x1p53 else {
            self = value
            return
        }
        // From there on, a Double cannot represent every integer.
        guard let decimal = Decimal(string: String(decoding: bytes, as: UTF8.self)),
            let exact = Self(truncating: decimal)
        else { throw .fault(.unrepresentable) }
        self = exact
    }

    private init?(truncating decimal: Decimal) {
        guard var magnitude = UInt64("\(decimal.significand)") else { return nil }
        for _ in 0..<Swift.max(-decimal.exponent, 0) { magnitude /= 10 }
        for _ in 0..<Swift.max(decimal.exponent, 0) {
            let (product, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10)
            guard !isTooLarge else { return nil }
            magnitude = product
        }
        guard let value = Self(exactly: magnitude) else { return nil }
        guard decimal.sign == .minus else {
            self = value
            return
        }
        guard Self.isSigned else { return nil }
        self = 0 - value
    }
}
