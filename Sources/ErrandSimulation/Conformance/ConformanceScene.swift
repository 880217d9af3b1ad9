import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The environment of a conformance case: a server, the transport, and methods that check expectations.
struct ConformanceScene: Sendable {
    /// A response with its whole body.
    struct Answer: Sendable, CustomStringConvertible {
        var status: Int
        var headers: HTTPHeaders
        var body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
        var description: String { "\(status) with \(body.count) bytes: \(text.prefix(80))" }
    }

    typealias Outcome = Result<Answer, ServiceError>

    /// The time limit of a case.
    static let longest = Duration.seconds(300)
    /// The time limit of one step, even on a busy machine under the thread sanitizer.
    static let timeLimit = Duration.seconds(60)
    /// The time limit for what happens "at once". It does not measure speed: cases may run in parallel on a busy
    /// machine, and what does not happen at once would take forever here.
    static let promptly = Duration.seconds(60)

    let server: LoopbackServer
    let transport: any Transport

    /// Creates a client of the server, without a rate limit or retries, and with more time than it needs.
    func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        var configuration = Configuration(ServerEnvironment(name: "loopback", baseURL: server.baseURL))
        configuration.transport = transport
        configuration.rateLimit = .unlimited
        configuration.retry = .never
        configuration.timeout = Self.timeLimit
        configuration.connectivity = .always
        configure(&configuration)
        return APIClient(configuration)
    }

    /// Creates a request to the server.
    func request(
        _ method: HTTPMethod = .get, _ target: String = "/x", headers: HTTPHeaders = [:], body: HTTPBody? = nil
    ) throws -> HTTPRequest {
        HTTPRequest(method: method, url: try HTTPURL(server.baseURL + target), headers: headers, body: body)
    }

    /// Sends a request with the transport, and returns the whole response.
    func send(_ request: HTTPRequest, limit: Int = 64 << 20) async throws -> Answer {
        try await within(Self.timeLimit, "an answer") {
            let context = TransportContext(bodyLimit: limit, timeout: Self.timeLimit)
            let response = try await transport.send(request, context: context)
            let body = try await response.body.collect(upTo: limit)
            return Answer(status: response.status, headers: response.headers, body: body)
        }
    }

    /// Requests a path, and returns the whole response.
    func get(_ target: String = "/x", limit: Int = 64 << 20) async throws -> Answer {
        try await send(request(.get, target), limit: limit)
    }

    /// Returns the transport's result for a request.
    func outcome(of request: HTTPRequest, limit: Int = 64 << 20) async throws -> Outcome {
        do {
            return .success(try await send(request, limit: limit))
        } catch {
            guard let error = error as? ServiceError else { throw error }
            return .failure(error)
        }
    }

    /// Expects that a GET fails with one of those kinds.
    func expectFailure(
        _ what: String, _ kinds: TransportFailure.Kind..., limit: Int = 64 << 20
    ) async throws {
        let outcome = try await outcome(of: request(), limit: limit)
        let names = kinds.map(\.rawValue).joined(separator: " or ")
        guard case .failure(.transport(let failure)) = outcome, kinds.contains(failure.kind) else {
            throw Self.surprise("\(what): .transport(\(names))", outcome)
        }
    }

    /// Expects a condition.
    func expect(_ expected: String, _ isSo: Bool, seen: @autoclosure () -> Any) throws {
        guard isSo else { throw Self.surprise(expected, seen()) }
    }

    /// Expects that two values are equal.
    func expect<Value: Equatable>(_ what: String, _ seen: Value, is expected: Value) throws {
        guard seen == expected else { throw Self.surprise("\(what): \(expected)", seen) }
    }

    static func surprise(_ expected: String, _ seen: Any) -> TransportConformance.Surprise {
        TransportConformance.Surprise(expected, String(reflecting: seen))
    }

    /// Expects that a call fails. Returns its error and its duration.
    func failure<Value: Sendable>(
        _ expected: String, of operation: () async throws(ServiceError) -> Value
    ) async throws -> (error: ServiceError, duration: Duration) {
        let start = ContinuousClock.now
        let outcome: Result<Value, ServiceError>
        do throws(ServiceError) {
            outcome = .success(try await operation())
        } catch {
            outcome = .failure(error)
        }
        guard case .failure(let error) = outcome else { throw Self.surprise(expected, outcome) }
        return (error, start.duration(to: .now))
    }

    /// Runs an operation that ends when it is canceled, and cancels it after `limit`.
    func within<Value: Sendable>(
        _ limit: Duration, _ expected: String, _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await SystemTime.system.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else {
                throw Self.surprise(expected, "nothing within \(limit)")
            }
            return value
        }
    }

    /// Expects that all connections to the server are closed soon.
    func expectNoConnection() async throws {
        try await within(Self.timeLimit, "no connection is left") { await server.connectionsClosed() }
    }

    /// Waits until at least `count` requests were received.
    func received(atLeast count: Int) async throws {
        try await within(Self.timeLimit, "\(count) requests at the server") { await server.received(atLeast: count) }
        // A wait that was canceled has not seen them.
        try expect("at least \(count) requests", server.received.count >= count, seen: server.received.count)
    }

    /// Waits until a condition is met, and checks it again and again.
    func wait(for expected: String, until isSo: @escaping @Sendable () -> Bool) async throws {
        try await within(Self.timeLimit, expected) {
            while !isSo() { try await SystemTime.system.sleep(for: .milliseconds(5)) }
        }
    }
}
