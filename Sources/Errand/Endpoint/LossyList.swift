/// A list of which those elements are left out that cannot be decoded, so that one of them does not cost the others.
///
///     let users = try await client.run(Endpoint<LossyList<User>>.get("users").unwrapping("users"))
///     if users.leftOut > 0 { print("\(users.leftOut) users could not be read: \(users.reasons)") }
///
/// It is a collection of the elements that could be decoded, in their order. What is no list at all is an error still.
/// Two lists are equal if their elements are. Encoded, it is a plain list again.
public struct LossyList<Element: Decodable & Sendable>: Sendable {
    /// A server that breaks one element breaks them all alike: the first few tell enough.
    private static var mostReasons: Int { 5 }

    /// The elements that could be decoded.
    public private(set) var elements: [Element]
    /// How many could not.
    public private(set) var leftOut = 0
    /// Why the first five of those could not: where, what was expected there, and what kind of thing was found. The
    /// values that were found are not in it.
    public private(set) var reasons: [DecodingFailure] = []

    /// Makes a list of which nothing was left out.
    public init(_ elements: [Element] = []) {
        self.elements = elements
    }

    /// An element that was met: decoded, or the reason why it cannot be. Reading it does not fail, so that the list
    /// goes on behind it.
    private struct Slot: Decodable {
        let outcome: Result<Element, any Error>

        init(from decoder: any Decoder) throws {
            // By way of a container, because only that knows how the decoder is set to read dates and the like.
            outcome = Result { try decoder.singleValueContainer().decode(Element.self) }
        }
    }

    private mutating func leaveOut(_ error: any Error, at place: @autoclosure () -> String) {
        leftOut += 1
        guard reasons.count < Self.mostReasons else { return }
        reasons.append(DecodingFailure(leavingOut: Element.self, at: place(), error))
    }
}

/// A list of which elements may be missing.
protocol PartialList {
    var leftOut: Int { get }
}

extension LossyList: PartialList {}

extension LossyList: Decodable {
    /// Decodes what can be decoded of a list, in one pass.
    public init(from decoder: any Decoder) throws {
        self.init()
        var list = try decoder.unkeyedContainer()
        if let count = list.count { elements.reserveCapacity(count) }
        while !list.isAtEnd {
            let index = list.currentIndex
            func place() -> String { "\(list.codingPath.joined)[\(index)]" }
            do {
                switch try list.decode(Slot.self).outcome {
                case .success(let element): elements.append(element)
                case .failure(let error): leaveOut(error, at: place())
                }
            } catch {
                // A decoder that does not hand out a null at all stands before it still.
                guard list.currentIndex == index, try list.decodeNil() else { throw error }
                leaveOut(error, at: place())
            }
        }
    }
}

extension LossyList: Encodable where Element: Encodable {
    /// Encodes the elements as a list.
    public func encode(to encoder: any Encoder) throws {
        try elements.encode(to: encoder)
    }
}

extension LossyList: RandomAccessCollection, ExpressibleByArrayLiteral {
    /// Where the elements begin.
    public var startIndex: Int { elements.startIndex }
    /// Where the elements end.
    public var endIndex: Int { elements.endIndex }
    /// The element at that place.
    public subscript(index: Int) -> Element { elements[index] }

    /// Makes a list of which nothing was left out.
    public init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension LossyList: Equatable where Element: Equatable {
    /// Whether the elements are the same, whatever was left out beside them.
    public static func == (left: LossyList, right: LossyList) -> Bool { left.elements == right.elements }
}

extension LossyList: Hashable where Element: Hashable {
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension DecodingFailure {
    /// Why an element is left out. The words of the error itself stay out: they may quote what was found.
    fileprivate init(leavingOut type: Any.Type, at element: String, _ error: any Error) {
        let cause = Cause(error, decoding: type, isQuoting: false)
        // Not every error knows where it is; of what element it is, is known here.
        self.init(
            path: cause.path.hasPrefix(element) ? cause.path : element, expected: cause.expected, found: cause.found)
    }
}
