import Errand
import ErrandFleet
import Logging
import Metrics
import Tracing

// MARK: Logs

func log(_ client: APIClient) {
    let logger = Logger(label: "billing-api")
    let events = client.diagnostics
    Task {
        for await event in events {
            let line = LogFormatter().line(for: event)
            logger.log(level: event.failure == nil ? .debug : .error, "\(line)", metadata: ["call": "\(event.call)"])
        }
    }
}

// MARK: Metrics

struct RequestDuration: Middleware {
    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        let start = context.time.now
        var attributes = [
            ("http.request.method", request.method.rawValue),
            ("server.address", request.url.origin.host),
            ("server.port", "\(request.url.origin.port)"),
        ]
        defer {
            Recorder(label: "http.client.request.duration", dimensions: attributes)
                .record(start.duration(to: context.time.now) / .seconds(1))
        }
        do {
            let response = try await next(request, context)
            attributes.append(("http.response.status_code", "\(response.status)"))
            if response.status >= 400 { attributes.append(("error.type", "\(response.status)")) }
            return response
        } catch {
            attributes.append(("error.type", kind(of: error)))
            throw error
        }
    }

    private func kind(of error: ServiceError) -> String {
        switch error {
        case .timedOut: "timeout"
        case .cancelled: "cancelled"
        case .transport(let failure): failure.kind.rawValue
        default: "_OTHER"
        }
    }
}

func measured() -> APIClient {
    let client = APIClient("https://api.example.com") {
        $0.attemptMiddlewares = [RequestDuration(), RequestSpans()]
    }
    return client
}

// MARK: Traces

struct RequestSpans: Middleware {
    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        try await withSpan(request.method.rawValue, ofKind: .client) { span in
            var request = request
            if !context.hasLeftOrigin {
                InstrumentationSystem.instrument.inject(
                    span.context, into: &request.headers, using: HeaderInjector())
            }
            span.attributes["http.request.method"] = request.method.rawValue
            span.attributes["server.address"] = request.url.origin.host
            span.attributes["server.port"] = request.url.origin.port
            span.attributes["url.full"] = "\(request.url)"
            if context.attempts > 1 {
                span.attributes["http.request.resend_count"] = context.attempts - 1
            }
            let response = try await next(request, context)
            span.attributes["http.response.status_code"] = response.status
            if response.status >= 400 { span.attributes["error.type"] = "\(response.status)" }
            return response
        }
    }
}

struct HeaderInjector: Injector {
    func inject(_ value: String, forKey name: String, into headers: inout HTTPHeaders) {
        headers[name] = value
    }
}

// MARK: Several servers

func report(_ client: APIClient) async throws {
    while true {
        for server in client.servers.snapshot {
            let dimensions = [("server", server.baseURL)]
            Gauge(label: "servers.in_use", dimensions: dimensions).record(server.state == .inUse ? 1 : 0)
            Gauge(label: "servers.requests", dimensions: dimensions).record(server.active)
        }
        try await Task.sleep(for: .seconds(15))
    }
}

// MARK: Fleets

func report(_ fleet: Fleet, logger: Logger) async throws {
    Task {
        for await event in fleet.events { logger.log(level: .notice, "fleet: \(event)") }
    }
    while true {
        for limit in fleet.snapshot.limits {
            let dimensions = [("limit", limit.name)]
            Gauge(label: "fleet.limit.owned", dimensions: dimensions).record(limit.owned)
            Gauge(label: "fleet.limit.starving", dimensions: dimensions).record(limit.isStarving ? 1 : 0)
            Gauge(label: "fleet.limit.writes", dimensions: dimensions).record(limit.writesInLastMinute)
            Gauge(label: "fleet.limit.conflicts", dimensions: dimensions)
                .record(limit.conflictsInLastMinute)
        }
        try await Task.sleep(for: .seconds(15))
    }
}
