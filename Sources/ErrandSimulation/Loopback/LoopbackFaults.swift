public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension LoopbackReply {
    /// The place where a response breaks off.
    public struct Cut: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case beforeHead, withinHead, afterHead, withinBody, beforeEnd
            case inBody(Int), after(Int)
        }

        let kind: Kind

        /// Before its first byte.
        public static let beforeHead = Cut(kind: .beforeHead)
        /// In the middle of its head.
        public static let withinHead = Cut(kind: .withinHead)
        /// Between its head and its body.
        public static let afterHead = Cut(kind: .afterHead)
        /// In the middle of its body.
        public static let withinBody = Cut(kind: .withinBody)
        /// After that many bytes of its body.
        public static func inBody(_ count: Int) -> Cut { Cut(kind: .inBody(count)) }
        /// Before the end of its body: after the last chunk, if there are chunks, otherwise before the last byte.
        public static let beforeEnd = Cut(kind: .beforeEnd)
        /// After that many bytes.
        public static func after(_ count: Int) -> Cut { Cut(kind: .after(count)) }

        /// The name of the place: `withinHead`.
        public var description: String { "\(kind)" }
    }

    /// Returns the same response up to that place, followed by `end`; by default the connection is closed.
    public func cut(_ place: Cut, by end: Step = .close) -> LoopbackReply {
        with { reply in
            var left = max(0, reply.offset(of: place))
            var kept: [Step] = []
            for step in reply.steps {
                if let length = step.length, length >= left {
                    kept.append(step.prefix(left))
                    break
                }
                left -= step.length ?? 0
                kept.append(step)
            }
            reply.steps = kept + [end]
        }
    }

    /// Returns the same response after a pause.
    public func after(_ pause: Duration) -> LoopbackReply {
        with { $0.steps.insert(.pause(pause), at: 0) }
    }

    /// Returns the same response byte by byte, with a pause after each.
    public func dripping(every pause: Duration) -> LoopbackReply {
        with { reply in
            reply.steps = reply.steps.map { step in
                if case .write(let data) = step.kind { .drip(data, every: pause) } else { step }
            }
        }
    }

    /// Returns the same response, whose body comes in pieces of that many bytes, with a pause after each.
    public func inPieces(of count: Int, every pause: Duration) -> LoopbackReply {
        with { reply in
            let head = reply.hasHead ? reply.steps.prefix(1) : []
            reply.steps =
                head
                + reply.steps.dropFirst(head.count).flatMap { step -> [Step] in
                    guard case .write(let data) = step.kind else { return [step] }
                    return data.pieces(of: count).flatMap { [.write($0), .pause(pause)] }
                }
        }
    }

    /// Returns the same response after interim responses, such as 100, 102 or 103.
    public func preceded(by statuses: Int...) -> LoopbackReply {
        let interim = statuses.map { Self.head($0, ["X-Interim": "\($0)"]) }.reduce(Data(), +)
        return with { reply in
            guard let first = reply.steps.firstIndex(where: { $0.length != nil }) else { return }
            // Written together with the head, because a response to HEAD is recognized by its first write.
            guard case .write(let head) = reply.steps[first].kind else {
                return reply.steps.insert(.write(interim), at: first)
            }
            reply.steps[first] = .write(interim + head)
        }
    }

    /// The same response, after which the connection is closed. A correct server announces that with `Connection:
    /// close`.
    public var thenClose: LoopbackReply {
        with { $0.steps.append(.close) }
    }

    /// The same response, after which the connection is reset.
    public var thenReset: LoopbackReply {
        with { $0.steps.append(.reset) }
    }

    /// Returns the same response followed by these bytes, which belong to no response.
    public func followed(by surplus: Data) -> LoopbackReply {
        with { $0.steps.append(.write(surplus)) }
    }

    /// Creates a response with that body in gzip.
    public static func gzip(_ body: Data, headers: HTTPHeaders = [:]) -> LoopbackReply {
        packed(Gzip.stored(body), headers)
    }

    /// Creates a small response in gzip that decompresses to `count` zeros, about 160 times its size.
    public static func bomb(_ count: Int, headers: HTTPHeaders = [:]) -> LoopbackReply {
        packed(Gzip.zeros(count), headers)
    }

    private static func packed(_ body: Data, _ headers: HTTPHeaders) -> LoopbackReply {
        var fields = headers
        fields["Content-Encoding"] = "gzip"
        return .status(200, headers: fields, body: body)
    }

    private func offset(of place: Cut) -> Int {
        let writes = steps.reduce(into: Data()) { all, step in
            switch step.kind {
            case .write(let data), .drip(let data, _): all += data
            default: break
            }
        }
        let end = writes.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound ?? writes.count
        return switch place.kind {
        case .beforeHead: 0
        case .withinHead: end / 2
        case .afterHead: end
        case .withinBody: end + (writes.count - end) / 2
        case .inBody(let count): end + count
        case .beforeEnd: max(end, writes.count - (writes.suffix(5) == Data("0\r\n\r\n".utf8) ? 5 : 1))
        case .after(let count): count
        }
    }
}

extension LoopbackReply.Step {
    /// Returns the step with at most `count` bytes.
    fileprivate func prefix(_ count: Int) -> Self {
        switch kind {
        case .write(let data): .write(Data(data.prefix(count)))
        case .drip(let data, let pause): .drip(Data(data.prefix(count)), every: pause)
        case .repeatForever(let data) where data.isEmpty: self
        case .repeatForever(let data): .write(Data((0..<count).map { data[data.startIndex + $0 % data.count] }))
        case .pause, .readBody, .silence, .close, .reset: self
        }
    }
}
