/// A formatter that converts events to log lines.
///
///     let formatter = LogFormatter()
///     for await event in client.diagnostics { print(formatter.line(for: event)) }
///
/// ```text
/// #7 GET users/7/friends  sent GET https://api.example.com/users/7/friends?sort=name (attempt 1)
/// #7 GET users/7/friends  answered 200 OK, 62 bytes, after 9 ms (HTTP/1.1, connection reused, first byte after 8 ms)
/// ```
public struct LogFormatter: Sendable {
    /// Creates a formatter.
    public init() {}

    /// Returns the event as one line, without a line break at its end. It has no control characters, whatever the
    /// server sent.
    public func line(for event: ClientEvent) -> String {
        "#\(event.call) \(event.endpoint)  \(text(of: event.kind))".printable
    }

    private func text(of kind: ClientEvent.Kind) -> String {
        switch kind {
        case .began: "began"
        case .joined(let call): "waits for the equal request of #\(call)"
        case .waitedForPermit(let pause): "waited \(pause.displayText) for the rate limit"
        case .waitedForToken(let pause): "waited \(pause.displayText) for an access token"
        case .sent(let request, let attempt):
            "sent \(request.method) \(request.url)"
                + "\(request.bodyLength.map { ", \($0) bytes" } ?? "") (attempt \(attempt))"
        case .sentBody(let text): "sent the body \(text)"
        case .answeredBody(let text): "answered with the body \(text)"
        case .answered(let status, let bytes, let pause, let timings):
            "answered \(status) \(HTTPStatus.reason(status)), \(bytes) bytes, after \(pause.displayText)"
                + (timings.map { " (\($0))" } ?? "")
        case .answeredFromCache(let status): "answered from the cache: \(status)"
        case .ignoredPause(let pause):
            "ignored Retry-After of \(pause.displayText); it exceeds the limit"
        case .failed(let error, let pause): "failed after \(pause.displayText): \(error.summary.printable)"
        case .redirected(let status, let url): "redirected (\(status)) to \(url)"
        case .retrying(.status(let status), let pause): "trying again in \(pause.displayText), because of \(status)"
        case .retrying(.failure(let error), let pause):
            "trying again in \(pause.displayText): \(error.summary.printable)"
        case .warned(let text): "warning: \(text)"
        case .serverSetAside(let server, let pause): "\(server) is set aside for \(pause.displayText)"
        case .breakerOpened(let server, let pause): "the breaker of \(server) opens for \(pause.displayText)"
        case .hedged(let server): "sent a second time, to \(server), because the response is late"
        case .serverReturned(let server): "\(server) is in use again"
        case .deprecated(let deprecation): "the server says that this is \(deprecation)"
        case .threads(let requests): "threads of the transport, by their requests: \(requests)"
        case .succeeded(let attempts, let pause): "succeeded after \(pause.displayText), attempts: \(attempts)"
        case .ended(let error, let attempts, let pause):
            "ended after \(pause.displayText), attempts: \(attempts): \(error.summary.printable)"
        }
    }
}
