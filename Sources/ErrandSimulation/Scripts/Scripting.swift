public import Errand

extension ScriptedTransport {
    /// Responds to the requests with that method and path, with one reply after the other.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - replies: The replies, one per line.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, fileID: StaticString = #fileID, filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column, @ScriptBuilder _ replies: () -> [ScriptedReply]
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                replies(), at: TestFailure.Location(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    /// Responds to the requests with that method and path, with one reply after the other.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - replies: The replies.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, _ replies: ScriptedReply..., fileID: StaticString = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                replies, at: TestFailure.Location(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    /// Responds to `count` requests with that method and path, or to any number of them, with the closure's response.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A path, a path with a query, a whole URL, or `*` for any path. Without a query, it accepts any.
    ///   - headers: Headers that the request must have, among others.
    ///   - body: The body that the request must have; `nil` for any.
    ///   - queryOrderMatters: Whether the parameters of the query must come in the order of `path`.
    ///   - count: The number of requests; `nil` for any number, including none.
    ///   - handler: Returns the response to a request.
    @discardableResult
    public func on(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        queryOrderMatters: Bool = false, times count: Int? = nil, fileID: StaticString = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column,
        answering handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(method, path, headers: headers, body: body, isQueryOrdered: queryOrderMatters),
                [ScriptedReply(outcome: .handler(handler), count: count)],
                at: TestFailure.Location(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    /// Responds to all requests, whatever their method and path, with one reply after the other.
    @discardableResult
    public func onAny(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column, @ScriptBuilder _ replies: () -> [ScriptedReply]
    ) -> ScriptedTransport {
        add(
            Script(
                ExpectedRequest(nil, "*"), replies(),
                at: TestFailure.Location(fileID: fileID, filePath: filePath, line: line, column: column)))
    }
}
