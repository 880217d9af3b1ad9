/// A list that skips the elements it cannot decode.
///
///     let users = try await client.run(Endpoint<LossyList<User>>.get("users").unwrapping("users"))
///     if users.skippedCount > 0 { print("\(users.skippedCount) users could not be read: \(users.failures)") }
///
/// It is a collection of the decoded elements, in order. A response that is not a list is still an error. Two lists are
/// equal if their elements are. It is encoded as a plain list.
public struct LossyList<Element: Decodable & Sendable>: Sendable {
    /// A server that breaks one element usually breaks all of them in the same way: the first five failures are enough.
    private static var mostFailures: Int { 5 }

    /// The decoded elements.
    public private(set) var elements: [Element]
    /// The number of elements that could not be decoded.
    public private(set) var skippedCount = 0
    /// The reasons why the first five of those could not be decoded: the path, the expected type, and the kind of value
    /// that was found. They do not contain the values themselves.
    public private(set) var failures: [DecodingFailure] = []

    /// Creates a list from which nothing was left out.
    public init(_ elements: [Element] = []) {
        self.elements = elements
    }

    /// An element, decoded or with the reason why it cannot be. Decoding a slot never fails, so that decoding the list
    /// continues after it.
    private struct Slot: Decodable {
        let outcome: Result<Element, any Error>

        init(from decoder: any Decoder) throws {
            // Through a container, because only that applies the decoder's strategies for dates and the like.
            outcome = Result { try decoder.singleValueContainer().decode(Element.self) }
        }
    }

    private mutating func leaveOut(_ error: any Error, at place: @autoclosure () -> String) {
        skippedCount += 1
        guard failures.count < Self.mostFailures else { return }
        failures.append(DecodingFailure(leavingOut: Element.self, at: place(), error))
    }
}

/// A list that may lack some of its elements.
protocol PartialList {
    var skippedCount: Int { get }
}

extension LossyList: PartialList {}

extension LossyList: Decodable {
    /// Decodes the elements that can be decoded, in one pass.
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
                // A decoder that does not pass a null to the slot has not moved past it.
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
    /// The index of the first element.
    public var startIndex: Int { elements.startIndex }
    /// The index after the last element.
    public var endIndex: Int { elements.endIndex }
    /// Returns the element at that index.
    public subscript(index: Int) -> Element { elements[index] }

    /// Creates a list from which nothing was left out.
    public init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension LossyList: Equatable where Element: Equatable {
    /// Returns whether the elements are equal, whatever was left out.
    public static func == (left: LossyList, right: LossyList) -> Bool { left.elements == right.elements }
}

extension LossyList: Hashable where Element: Hashable {
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension DecodingFailure {
    /// Creates the reason why an element is left out. It does not quote the error's own text, which may contain the
    /// value.
    fileprivate init(leavingOut type: Any.Type, at element: String, _ error: any Error) {
        let cause = Cause(error, decoding: type, isQuoting: false)
        // Not every error has a path, but the index of the element is known here.
        self.init(
            path: cause.path.hasPrefix(element) ? cause.path : element, expected: cause.expected, found: cause.found)
    }
}
