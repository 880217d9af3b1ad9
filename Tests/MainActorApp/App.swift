package import Errand
import Foundation
import NeighborNames

// Everything in this target is isolated to the main actor unless it says otherwise, and a module beside Errand has the
// usual names. What an app writes has to compile here too.

/// A model is decoded off the main actor, so it is not isolated to it.
nonisolated package struct User: Codable, Sendable, Equatable {
    package var name: String

    package init(name: String) {
        self.name = name
    }
}

enum UserRoute: EndpointConvertible, Route {
    case friends(of: Int)

    var path: EndpointPath {
        switch self {
        case .friends(let id): "users/\(id)/friends"
        }
    }
}

extension Endpoint where Response == [User] {
    static func friends(of id: Int) -> Self {
        .get("users/\(id)/friends", query: ["sort": "name"]).unwrapping("users")
    }
}

package struct Stopwatch: Middleware {
    let note: @Sendable (String) -> Void

    package func intercept(_ request: HTTPRequest, _ context: CallContext, next: Middleware.Next) async throws
        -> HTTPResponse
    {
        let response = try await next(request, context)
        note(context.endpoint)
        return response
    }
}

/// A model of a screen, as an app has it.
package final class Screen {
    package private(set) var users: [User] = []
    package private(set) var message: String?
    package private(set) var calls = 0
    package private(set) var fraction: Double?
    private let client: APIClient

    package init(_ network: any Transport) {
        let limit = 7
        client = APIClient("https://api.test") {
            $0.transport = network
            $0.rateLimit = .requests(limit, per: .seconds(1))
        }
    }

    package func load() async {
        calls += 1
        do throws(ServiceError) {
            users = try await client.run(.friends(of: 7))
        } catch .cancelled {
            // The next load shows what is there.
        } catch {
            message = error.localizedDescription
        }
    }

    /// The progress of a download comes from another thread.
    package func download(to path: String) async throws {
        try await client.download(.get("photo"), to: path) { progress in
            Task { @MainActor in self.fraction = progress.fraction }
        }
    }

    package func remove() async throws {
        try await client.run(.delete("users/7"))
    }

    package func loadByRoute() async throws -> [User] {
        try await client.run(UserRoute.friends(of: 7))
    }
}

/// A client with all that an app may configure.
package func client(
    _ network: any Transport, _ tokens: TokenStore, noting note: @escaping @Sendable (String) -> Void
) -> APIClient {
    APIClient("https://api.test") {
        $0.transport = network
        $0.tokens = tokens
        $0.attemptMiddlewares = [Stopwatch(note: note)]
        $0.observe = { event in note("\(event.call)") }
    }
}

/// The names of other modules keep their meaning.
private let others: [Any] = [Path(), Query(), Page(), Next(), Archive()]
