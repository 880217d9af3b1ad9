import Errand
import ErrandFleet
import Foundation

/// A node that stops itself in the middle of a call, like a process that a debugger or the system stops, at a place
/// between two lines.
///
/// A place is where the call reads the clock, and where the user's code runs in it. The node stops after it has read
/// the clock, so that what it does next relies on an old instant. It runs one call to count the places, then another
/// that stops, and says what has become of it; then it waits for a line, and calls until a call succeeds.
struct StoppedCall {
    /// What a call consists of.
    enum Shape: String {
        /// A request without a body, on a connection that is open.
        case plain
        /// One that is signed, with middleware, and a body that promises to be empty and is read before the first byte.
        case full
        /// A request on a new connection through the proxy SERVER.
        case proxied
    }

    private let client: APIClient
    private let fleet: Fleet
    private let limiter: RateLimiter
    private let shape: Shape

    init(_ shape: Shape, store: String, lifetime: Int, server: String) async {
        self.shape = shape
        let time = StoppingTime()
        let fleet = Fleet(
            store: FileFleetStore(folder: store), name: "test", lifetime: .milliseconds(lifetime), time: time)
        let limiter = fleet.limiter("api", .requests(20, per: .seconds(1)), whenUnreachable: .fail)
        let tokens = TokenStore(time: time)
        if shape == .full { await tokens.signIn(Token(accessToken: "token")) }
        client = APIClient(shape == .proxied ? "http://127.0.0.1:1" : server) {
            $0.limiter = limiter
            $0.time = time
            $0.timeout = nil
            $0.retry = .never
            if shape == .proxied { $0.transport = Self.transport(through: server) }
            guard shape == .full else { return }
            $0.tokens = tokens
            $0.attemptMiddlewares = [StoppingMiddleware()]
        }
        (self.fleet, self.limiter) = (fleet, limiter)
    }

    private static func transport(through proxy: String) -> any Transport {
        #if os(Linux)
        var options = CurlTransport.Options()
        (options.proxy, options.proxiesLoopback) = (.url(proxy), true)
        return CurlTransport(options)
        #else
        return URLSessionTransport()
        #endif
    }

    /// Stops at that place of a call, and prints what becomes of it; at none if the place is 0.
    func run(at place: Int) async {
        // So that the node owns permits.
        while (try? await limiter.acquire()) == nil { try? await Task.sleep(for: .milliseconds(50)) }
        if shape != .proxied { await count() }
        let outcome = await Places.$current.withValue(Places(stopsAt: place)) { await call("stopped") }
        say(outcome)
        _ = readLine()
        await succeed("last")
        say("sent")
        await fleet.leave()
    }

    /// Prints how many places a call has.
    private func count() async {
        await succeed("warm")
        let counter = Places(stopsAt: nil)
        await Places.$current.withValue(counter) { await succeed("counted") }
        say("\(counter.count)")
    }

    private func succeed(_ path: EndpointPath) async {
        while await call(path) != "sent" { try? await Task.sleep(for: .milliseconds(50)) }
    }

    private func call(_ path: EndpointPath) async -> String {
        do throws(ServiceError) {
            switch shape {
            case .plain, .proxied: try await client.run(Endpoint<NoContent>.get(path))
            case .full:
                let body = RequestBody.stream(length: 0, contentType: "text/plain") { StoppingBody() }
                try await client.run(Endpoint<NoContent>.put(path, body: body))
            }
            return "sent"
        } catch {
            return "failed: \(error)"
        }
    }
}

/// Counts the places that a call passes, and stops the process at one of them.
private final class Places: Sendable {
    /// The places of the call that this task makes.
    @TaskLocal static var current: Places?

    private let place: Int?
    private let passed = Lock(0)

    init(stopsAt place: Int?) {
        self.place = place
    }

    var count: Int { passed.withLock { $0 } }

    func pass() {
        let number = passed.withLock { count in
            count += 1
            return count
        }
        // This thread does not return before the process goes on.
        if number == place { raise(SIGSTOP) }
    }
}

/// The system's time, at whose reading a call may be stopped.
private struct StoppingTime: TimeSource {
    private let time: any TimeSource = .system

    var now: Instant {
        defer { Places.current?.pass() }
        return time.now
    }

    var date: Date {
        defer { Places.current?.pass() }
        return time.date
    }

    var executor: (any TaskExecutor)? { nil }

    func random() -> UInt64 { time.random() }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        time.schedule(at: instant, for: purpose, action)
    }
}

private struct StoppingMiddleware: Middleware {
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        Places.current?.pass()
        return try await next(request, context)
    }
}

/// A body of no bytes.
private struct StoppingBody: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        func next() async -> Data? {
            Places.current?.pass()
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
