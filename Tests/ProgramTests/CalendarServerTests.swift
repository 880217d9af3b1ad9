import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import CalendarServer

@Suite("A server for 200 users")
struct CalendarServerTests {
    private static let users = (0..<200).map { "user\($0)" }

    private let network = ScriptedTransport()
    private let logins = ScriptedTransport()
    private let clock = TestClock()
    private let server: CalendarServer

    init() {
        let environment = ServerEnvironment(name: "calendar", baseURL: "https://calendar.test")
        var service = Configuration(environment)
        (service.transport, service.time) = (network, clock)
        server = CalendarServer(login: testClient(logins, clock), service: service) { _ in .memory }
    }

    private func signIn(_ users: [String], until expiry: Date?) async {
        for user in users {
            await server.signIn(user, with: Token(accessToken: "old", refreshToken: user, expiry: expiry))
        }
    }

    @Test("each user's expired token is refreshed once, and the limit of the server holds")
    func everybody() async throws {
        logins.on(.post, "/token") { _ in
            .status(200, body: #"{"access_token": "new", "token_type": "Bearer"}"#)
        }
        network.on(.get, "/events") { request in
            .status(
                request.headers["Authorization"] == "Bearer new" ? 200 : 400,
                headers: ["Content-Type": "application/json"], body: #"[{"title": "Tea"}]"#)
        }
        await signIn(Self.users, until: clock.date)
        let server = server
        await clock.run {
            await withTaskGroup(of: Response.self) { requests in
                for user in Self.users + Self.users {
                    requests.addTask { await server.respond(to: Request(user: user)) }
                }
                for await response in requests {
                    #expect(response == Response(status: 200, events: [Event(title: "Tea")]))
                }
            }
            await server.shutdown()
        }
        #expect(logins.sent.count == 200)
        // 400 sends, 50 at once and then 50 a second.
        #expect(network.sent.count == 400 && network.sent.last?.at == .zero.advanced(by: .seconds(7)))
    }

    @Test("a user whom the service has told to wait does not delay another")
    func apart() async throws {
        let refusal = ScriptedReply.status(429, headers: ["Retry-After": "30"])
        network.on(.get, "/events", headers: ["Authorization": "Bearer busy"], refusal)
        network.on(.post, "/events", body: .json(["title": "Tea"]), .status(201))
        await server.signIn("ann", with: Token(accessToken: "busy"))
        await server.signIn("bo", with: Token(accessToken: "calm"))
        let server = server
        await clock.run {
            let first = await server.respond(to: Request(user: "ann"))
            // Thirty seconds are longer than the deadline of a call.
            #expect(first.status == 503)
            let second = await server.respond(to: Request(user: "bo", newEvent: Event(title: "Tea")))
            #expect(second.status == 201)
            #expect(await server.respond(to: Request(user: "cy")).status == 401)
        }
        #expect(clock.elapsed == .zero)
    }
}
