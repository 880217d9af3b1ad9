import Errand

struct Event: Codable, Sendable, Equatable {
    var title: String
}

/// A request of a user: to add an event, or to list all events.
struct Request: Sendable {
    var user: String
    var newEvent: Event?
}

struct Response: Sendable, Equatable {
    var status: Int
    var events: [Event] = []
}

/// A server that shows its users their events, which a calendar service keeps. The service allows each user five
/// requests per second, and the server fifty.
actor CalendarServer {
    private let login: APIClient
    private let service: Configuration
    private let limiter: RateLimiter
    private let session: @Sendable (_ user: String) -> any TokenPersistence
    private var clients: [String: APIClient] = [:]

    /// Creates a server. The closure returns where the session of a user is kept.
    init(
        login: APIClient, service: Configuration, session: @escaping @Sendable (_ user: String) -> any TokenPersistence
    ) {
        (self.login, self.service, self.session) = (login, service, session)
        limiter = RateLimiter(.requests(50, per: .seconds(1)), time: service.time)
    }

    /// Handles a request. The calls end when the task is canceled, because the user's connection has gone away.
    nonisolated func respond(to request: Request) async -> Response {
        let client = await client(of: request.user)
        do throws(ServiceError) {
            guard let event = request.newEvent else {
                return Response(status: 200, events: try await client.run(.get("events")))
            }
            try await client.run(.post("events", body: .json(event)).idempotencyKey(.unique))
            return Response(status: 201)
        } catch let error where error.needsSignIn {
            return Response(status: 401)
        } catch .rejected(let rejection) {
            return Response(status: rejection.status)
        } catch {
            return Response(status: error.isTransient ? 503 : 502)
        }
    }

    func signIn(_ user: String, with token: Token) async {
        await client(of: user).configuration.tokens?.signIn(token)
    }

    private func client(of user: String) -> APIClient {
        if let client = clients[user] { return client }
        let login = login
        var configuration = service
        configuration.deadline = .seconds(20)
        configuration.limiter = RateLimiter(.requests(5, per: .seconds(1)), within: limiter)
        configuration.tokens = TokenStore(persistence: session(user), time: service.time) { old in
            try await OAuth(server: login, clientID: "calendar-server", credentials: .idOnly).refresh(old)
        }
        let client = APIClient(configuration)
        clients[user] = client
        return client
    }

    /// Lets the running calls finish, and waits until all sessions are saved.
    func shutdown() async {
        await withTaskGroup { group in
            for client in clients.values {
                group.addTask {
                    await client.shutdown(within: .seconds(10))
                    await client.configuration.tokens?.waitUntilSaved()
                }
            }
        }
    }
}
