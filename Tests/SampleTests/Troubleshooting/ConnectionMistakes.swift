import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

extension Mistake {
    static let connections: [Mistake] = [
        Mistake("Nothing listens at the address") {
            let server = try LoopbackServer(isListening: false)
            try await APIClient(server.baseURL) { $0.retry = .never }.run(.person)
        },
        // Of these two, only what libcurl reports is scripted: the tests use no name server.
        Mistake("A name that does not exist") {
            let failure = TransportFailure(.dns, "Could not resolve host: api.example.com")
            try await client(.error(ServiceError.transport(failure))) { $0.retry = .never }.run(.person)
        },
        Mistake("A certificate of your own") {
            let failure = TransportFailure(
                .untrustedCertificate, "SSL certificate problem: self-signed certificate")
            try await client(.error(ServiceError.transport(failure))).run(.person)
        },
        Mistake("No network") {
            try await client { $0.connectivity = Connectivity { false } }.run(.person)
        },
        Mistake("A server that does not respond") {
            let clock = TestClock()
            let client = client(.silence.always, at: clock)
            try await clock.run { try await client.run(.person) }
        },
        Mistake("A deadline that is too short") {
            let clock = TestClock()
            let client = client(.silence.always, at: clock) { $0.deadline = .seconds(5) }
            try await clock.run { try await client.run(.person) }
        },
        Mistake("A deadline that comes before the permit") {
            let clock = TestClock()
            let client = client(.json(#"{"id": 7, "name": "Ann"}"#), at: clock) {
                $0.rateLimit = .requests(1, per: .seconds(60))
                $0.deadline = .seconds(5)
            }
            try await clock.run {
                _ = try await client.run(.person)
                try await client.run(.person)
            }
        },
        Mistake("A task that was canceled") {
            let client = client()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await client.run(.person)
            }
            _ = try await task.value
        },
        Mistake("A response that is too large") {
            try await client(.json(#"{"id": 7, "name": "Ann"}"#)) { $0.responseByteLimit = 10 }.run(.person)
        },
        Mistake("A redirect to plain http") {
            try await client(.status(301, headers: ["Location": "http://api.example.com/users/7"])).run(.person)
        },
        Mistake("A redirect that leads in a circle") {
            try await client(.status(302, headers: ["Location": "/users/7"])).run(.person)
        },
        Mistake("A redirect of a body that can be sent once") {
            let rows = HTTPBody.Chunks { $0.finish() }
            let client = client(.status(307, headers: ["Location": "/v2/rows"]))
            try await client.run(.post("rows", body: .stream(contentType: "application/x-ndjson", rows)))
        },
    ]
}
