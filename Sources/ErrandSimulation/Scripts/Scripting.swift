public import Errand

extension ScriptedTransport {
    /// Responds to the requests with that method and path, with one reply after the other.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path; `https://api.example.com/*` is any path
    ///     of that server. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - replies: The replies; see ``ScriptBuilder``.
    ///   - file: The file of the script, for failures.
    ///   - line: The line of the script, for failures.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, file: StaticString = #filePath, line: UInt = #line,
        @ScriptBuilder _ replies: () -> [ScriptedReply]
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                replies(), at: TestFailure.Location(file: file, line: line)))
    }

    /// Responds to the requests with that method and path, with one reply after the other.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path; `https://api.example.com/*` is any path
    ///     of that server. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - replies: The replies.
    ///   - file: The file of the script, for failures.
    ///   - line: The line of the script, for failures.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, _ replies: ScriptedReply..., file: StaticString = #filePath, line: UInt = #line
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                replies, at: TestFailure.Location(file: file, line: line)))
    }

    /// Responds to `count` requests with that method and path, or to any number of them, with the closure's reply.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path; `https://api.example.com/*` is any path
    ///     of that server. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - count: The number of requests; `nil` for any number, including none.
    ///   - file: The file of the script, for failures.
    ///   - line: The line of the script, for failures.
    ///   - handler: Returns the reply to a request, which may take time, fail or be silent like any other. An error
    ///     that it throws is a failure of the network. How many requests the reply is for does not matter here.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, times count: Int? = nil, file: StaticString = #filePath, line: UInt = #line,
        answering handler: @escaping @Sendable (HTTPRequest) async throws -> ScriptedReply
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                [ScriptedReply(outcome: .handler(handler), count: count)],
                at: TestFailure.Location(file: file, line: line)))
    }

    /// Responds to all requests, whatever their method and path, with one reply after the other.
    ///
    /// - Parameters:
    ///   - file: The file of the script, for failures.
    ///   - line: The line of the script, for failures.
    ///   - replies: The replies; see ``ScriptBuilder``.
    @discardableResult
    public func onAny(
        file: StaticString = #filePath, line: UInt = #line, @ScriptBuilder _ replies: () -> [ScriptedReply]
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(nil, "*"), replies(),
                at: TestFailure.Location(file: file, line: line)))
    }

    /// Responds to `count` requests, whatever their method and path, or to any number of them, with the closure's
    /// reply.
    ///
    ///     network.onAny { request in
    ///         request.method == .get ? .json("[]").after(.milliseconds(80)) : .status(405)
    ///     }
    ///
    /// - Parameters:
    ///   - count: The number of requests; `nil` for any number, including none.
    ///   - file: The file of the script, for failures.
    ///   - line: The line of the script, for failures.
    ///   - handler: Returns the reply to a request, which may take time, fail or be silent like any other. An error
    ///     that it throws is a failure of the network. How many requests the reply is for does not matter here.
    @discardableResult
    public func onAny(
        times count: Int? = nil, file: StaticString = #filePath, line: UInt = #line,
        answering handler: @escaping @Sendable (HTTPRequest) async throws -> ScriptedReply
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(nil, "*"), [ScriptedReply(outcome: .handler(handler), count: count)],
                at: TestFailure.Location(file: file, line: line)))
    }
}
