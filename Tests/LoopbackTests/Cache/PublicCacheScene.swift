@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

/// Plays a case of the public HTTP cache tests: its server, its client and its checks, in virtual time or over the
/// wire.
///
/// What is meant by each member of a case follows the engine of that project. A check that belongs to the preparation
/// of a case counts like any other: a case whose preparation fails is not passed.
final class PublicCacheScene: Sendable {
    struct Failure: Error {
        let reason: String
    }

    private struct Served: Sendable {
        var number: Int
        var method: HTTPMethod
        var headers: HTTPHeaders
        /// The fields that the client has to receive as they were sent.
        var checked: [String: String] = [:]
    }

    private struct State: Sendable {
        var served: [Served] = []
        /// The dates of the last change that the responses have named, by their steps.
        var dates: [Int: String] = [:]
    }

    private static let identity = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    private static let dates: Set<String> = [
        "date", "expires", "last-modified", "if-modified-since", "if-unmodified-since",
    ]
    private static let statusesWithoutBody: Set<Int> = [204, 304]

    private let test: PublicCacheCase
    private let cache: HTTPCache
    private let clock = TestClock(date: Date(timeIntervalSince1970: 1_767_225_600))
    private let network = ScriptedTransport()
    private let state = Lock(State())

    init(_ test: PublicCacheCase, _ cache: HTTPCache) {
        self.test = test
        self.cache = cache
    }

    /// Returns why the case is not passed; `nil` if it is.
    func failure() async -> String? {
        network.onAny { [self] request in
            let step = step(of: request.headers)
            if let pause = step.response_pause { try await clock.sleep(for: .seconds(pause)) }
            let answer = answer(to: request.method, request.url.path, request.headers, at: clock.date)
            if step.disconnect == true { throw ServiceError.transport(TransportFailure(.reset, "disconnected")) }
            return .status(answer.status, headers: answer.headers, body: answer.body)
        }
        let client = testClient(network, clock, configure)
        return await reason { try await clock.run { try await self.play(client) } }
    }

    /// Returns why the case is not passed if its requests go to a server on this machine; `nil` if it is. It must not
    /// wait: see ``PublicCacheCase/isImmediate``.
    func failureOverTheWire() async throws -> String? {
        let server = try LoopbackServer()
        server.onAny { [self] request in
            let answer = answer(to: request.method, request.path, request.headers, at: Date())
            return .status(answer.status, headers: answer.headers, body: answer.body)
        }
        let client = APIClient(server.baseURL) { configuration in
            configuration.rateLimit = .unlimited
            configure(&configuration)
        }
        let reason = await reason { try await play(client) }
        await client.shutdown()
        return reason
    }

    private func configure(_ configuration: inout Configuration) {
        configuration.cache = cache
        // The cases are those of a cache for pages, which guesses.
        configuration.cachePolicies = [.heuristic]
        // The cases are about `Vary`, and their fields about nobody.
        let names = Set(test.requests.flatMap { $0.request_headers ?? [] }.map { $0.name.lowercased() })
        configuration.anonymousHeaders = names.subtracting(["authorization", "cookie"]).union(["req-num"])
        configuration.retry = .never
        configuration.redirects = .never
    }

    private func reason(_ play: () async throws -> Void) async -> String? {
        do {
            try await play()
            return nil
        } catch let failure as Failure {
            return failure.reason
        } catch {
            return "\(error)"
        }
    }

    private func play(_ client: APIClient) async throws {
        var replies: [Reply<Data>] = []
        for (index, step) in test.requests.enumerated() {
            let reply = try await client.reply(to: endpoint(step, number: index + 1))
            try check(reply, of: step, number: index + 1)
            replies.append(reply)
            if step.pause_after == true { try await clock.sleep(for: .seconds(3)) }
        }
        try checkServed(replies)
    }

    private func endpoint(_ step: PublicCacheCase.Step, number: Int) -> Endpoint<Data> {
        var path = "/test/\(Self.identity)"
        if let file = step.filename { path += "/\(file)" }
        if let query = step.query_arg { path += "?\(query)" }
        var headers = HTTPHeaders()
        for field in step.request_headers ?? [] { headers.add(name: field.name, value: field.trimmed) }
        // What the fetch standard sends in that mode.
        if step.cache == "no-cache" { headers.add(name: "Cache-Control", value: "max-age=0") }
        headers["Req-Num"] = String(number)
        var endpoint = Endpoint<Data>(HTTPMethod(rawValue: step.request_method ?? "GET"), url: path, headers: headers)
        endpoint.body = step.request_body.map { .data(Data($0.utf8), contentType: "text/plain") }
        endpoint.options.acceptedStatuses = Set(300..<1000)
        return endpoint
    }

    // MARK: The server

    private func number(of headers: HTTPHeaders) -> Int {
        headers["Req-Num"].flatMap { Int($0) } ?? 0
    }

    private func step(of headers: HTTPHeaders) -> PublicCacheCase.Step {
        test.requests[number(of: headers) - 1]
    }

    private func answer(
        to method: HTTPMethod, _ path: String, _ requested: HTTPHeaders, at date: Date
    ) -> (status: Int, headers: HTTPHeaders, body: Data) {
        let (number, step) = (number(of: requested), step(of: requested))
        let status = status(of: step, number: number, for: requested)
        let count = state.withLock { $0.served.count + 1 }
        var headers: HTTPHeaders = [
            "Server-Base-Url": path, "Server-Request-Count": String(count),
            "Server-Now": String(Int(date.timeIntervalSince1970)),
        ]
        var served = Served(number: number, method: method, headers: requested)
        for field in step.response_headers ?? [] {
            let value = value(of: field, in: headers, magicLocations: step.magic_locations ?? false)
            headers.add(name: field.name, value: value)
            if field.isChecked { served.checked[field.name] = headers.joined(field.name) }
        }
        if headers["Content-Type"] == nil { headers["Content-Type"] = "text/plain" }
        state.withLock { [headers] state in
            state.served.append(served)
            state.dates[number] = headers["Last-Modified"]
        }
        let hasBody = method != .head && !Self.statusesWithoutBody.contains(status)
        return (status, headers, hasBody ? Data((step.response_body ?? Self.identity).utf8) : Data())
    }

    private func status(of step: PublicCacheCase.Step, number: Int, for headers: HTTPHeaders) -> Int {
        guard step.expected_type?.hasSuffix("validated") == true else { return step.response_status?.code ?? 200 }
        let tag = test.requests[number - 2].response_headers?.first { $0.name == "ETag" }?.text
        let date = state.withLock { $0.dates[number - 1] }
        let isKnown =
            date != nil && headers["If-Modified-Since"] == date
            || tag != nil && headers["If-None-Match"] == tag
        return isKnown ? 304 : 999
    }

    private func value(
        of field: PublicCacheCase.Field, in headers: HTTPHeaders, magicLocations: Bool = false
    ) -> String {
        let name = field.name.lowercased()
        if let offset = field.offset, Self.dates.contains(name), let now = headers["Server-Now"].flatMap({ Double($0) })
        {
            return HTTPDate.text(Date(timeIntervalSince1970: now + Double(offset)))
        }
        let text = field.text ?? field.offset.map { String($0) } ?? ""
        guard magicLocations, name == "location" || name == "content-location" else { return text }
        let base = headers["Server-Base-Url"] ?? ""
        return text.isEmpty ? base : "\(base)/\(text)"
    }

    // MARK: The checks

    private func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        if !condition { throw Failure(reason: reason()) }
    }

    private func check(_ reply: Reply<Data>, of step: PublicCacheCase.Step, number: Int) throws {
        let count = reply.headers["Server-Request-Count"].flatMap { Int($0) }
        switch step.expected_type {
        case "cached": try require(count.map { $0 < number } ?? false, "response \(number) is not cached")
        case "not_cached": try require(count == number, "response \(number) is cached")
        default: break
        }
        if !step.nulls.contains("expected_status") {
            let expected = step.expected_status ?? step.response_status?.code ?? 200
            try require(reply.status == expected, "response \(number) has the status \(reply.status), not \(expected)")
        }
        for field in step.expected_response_headers ?? [] {
            let found = reply.headers.joined(field.name)
            if let operand = field.operand, field.text == ">" {
                let isGreater = (found.flatMap { Int($0) } ?? -1) > (Int(operand) ?? 0)
                try require(isGreater, "\(field.name) is \(found ?? "missing"), not above \(operand)")
            } else if field.text == nil, field.offset == nil {
                try require(found != nil, "\(field.name) is missing")
            } else {
                let expected = value(of: field, in: reply.headers)
                try require(found == expected, "\(field.name) is \(found ?? "missing"), not \(expected)")
            }
        }
        for field in step.expected_response_headers_missing ?? [] {
            let found = reply.headers.joined(field.name)
            let isPresent = found.map { found in field.text.map(found.contains) ?? true } ?? false
            try require(!isPresent, "\(field.name) is \(found ?? "")")
        }
        try checkBody(reply, of: step, number: number)
    }

    private func checkBody(_ reply: Reply<Data>, of step: PublicCacheCase.Step, number: Int) throws {
        guard step.check_body != false, !step.nulls.contains("expected_response_text") else { return }
        let body = String(decoding: reply.value, as: UTF8.self)
        if let expected = step.expected_response_text ?? step.response_body {
            try require(body == expected, "body \(number) is \(body), not \(expected)")
        } else if !Self.statusesWithoutBody.contains(reply.status), step.request_method != "HEAD" {
            try require(body == Self.identity, "body \(number) is \(body)")
        }
    }

    /// Checks what the server has seen, request by request.
    private func checkServed(_ replies: [Reply<Data>]) throws {
        var served = state.withLock { $0.served }[...]
        for (index, step) in test.requests.enumerated() where step.expected_type != "cached" {
            let number = index + 1
            let seen = served.popFirst()
            if step.expected_type == "not_cached" { try require(seen?.number == number, "request \(number) not sent") }
            let condition = ["etag_validated": "If-None-Match", "lm_validated": "If-Modified-Since"]
            if let name = step.expected_type.flatMap({ condition[$0] }) {
                try require(seen?.headers[name] != nil, "request \(number) has no \(name)")
            }
            for field in step.expected_request_headers ?? [] {
                let found = seen?.headers.joined(field.name)
                try require(
                    found != nil && (field.text == nil || found == field.text), "\(field.name) is \(found ?? "-")")
            }
            if let method = step.expected_method {
                try require(seen?.method.rawValue == method, "request \(number) is no \(method)")
            }
            for (name, value) in seen?.checked ?? [:] where name.lowercased() != "date" {
                let found = replies[index].headers.joined(name)
                try require(found == value, "response \(number) has \(name): \(found ?? "-"), not \(value)")
            }
        }
    }
}

extension HTTPHeaders {
    /// The values of all fields with that name; `nil` if there is none.
    fileprivate func joined(_ name: String) -> String? {
        let values = values(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension PublicCacheCase.Field {
    /// The text without the spaces at its ends, which no client sends.
    fileprivate var trimmed: String { (text ?? "").trimmingCharacters(in: .whitespaces) }
}
