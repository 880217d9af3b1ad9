import Errand

struct Profile: Codable, Sendable, Equatable { var name: String }
struct Order: Codable, Sendable, Equatable { var id: Int }
struct Offer: Codable, Sendable, Equatable { var title: String }

/// What a visitor sees first. What an upstream did not say in time is missing.
struct FrontPage: Codable, Sendable, Equatable {
    var name = "you"
    var orders: [Order] = []
    var offers: [Offer] = []
    /// The parts that are not current.
    var missing: [String] = []
}

/// Asks three services for one page, on behalf of the visitor whose token comes with the request.
actor FrontPageServer {
    /// The addresses of the services.
    struct Services: Sendable {
        var login, profiles, orders, offers: String
    }

    private let oauth: OAuth
    private let profiles, orders: Configuration
    private let offers: APIClient
    private var visitors: [String: (profiles: APIClient, orders: APIClient)] = [:]
    private var lastOffers: [Offer] = []
    nonisolated let metrics = Metrics()

    init(_ services: Services, secret: String, _ configure: (inout Configuration) -> Void = { _ in }) {
        let metrics = metrics
        func configuration(_ name: String, _ url: String) -> Configuration {
            var configuration = Configuration(ServerEnvironment(name: name, baseURL: url))
            configuration.rateLimit = .unlimited
            // While a service hangs, its part is missing at once, and the page does not wait for it.
            configuration.breaker = .standard
            configuration.observe = { metrics.count($0, of: name) }
            configure(&configuration)
            return configuration
        }
        oauth = OAuth(
            server: APIClient(configuration("login", services.login)), clientID: "front", clientSecret: secret)
        profiles = configuration("profiles", services.profiles)
        orders = configuration("orders", services.orders)
        offers = APIClient(configuration("offers", services.offers))
    }

    /// Returns the page within 800 ms, with what has come until then.
    func page(for visitor: String) async -> FrontPage {
        let clients = clients(of: visitor)
        let offers = offers
        let (profile, orders, found) = await Deadline(after: .milliseconds(800), time: profiles.time).run {
            async let profile = outcome { try await clients.profiles.run(Endpoint<Profile>.get("me")) }
            async let orders = outcome { try await clients.orders.run(Endpoint<[Order]>.get("orders")) }
            async let found = outcome { try await offers.run(Endpoint<[Offer]>.get("offers")) }
            return await (profile, orders, found)
        }
        if let found { lastOffers = found }
        var page = FrontPage(orders: orders ?? [], offers: lastOffers)
        if let profile { page.name = profile.name }
        for (part, isThere) in [("name", profile != nil), ("orders", orders != nil), ("offers", found != nil)]
        where !isThere { page.missing.append(part) }
        return page
    }

    /// Answers what has begun, for ten seconds at most. Stop accepting requests first.
    func shutdown() async {
        await withDiscardingTaskGroup { group in
            for client in visitors.values.flatMap({ [$0.profiles, $0.orders] }) + [offers] {
                group.addTask { await client.shutdown(within: .seconds(10)) }
            }
        }
        await oauth.shutdown()
    }

    /// The clients that call for a visitor, with tokens that are exchanged for the visitor's own.
    private func clients(of visitor: String) -> (profiles: APIClient, orders: APIClient) {
        if let clients = visitors[visitor] { return clients }
        // Visitors come back, but not all of them.
        if visitors.count >= 10_000 { visitors.removeAll() }
        let oauth = oauth
        func client(_ shared: Configuration) -> APIClient {
            var configuration = shared
            configuration.tokens = TokenStore(time: shared.time) { () async throws(ServiceError) in
                try await oauth.token(
                    .tokenExchange(subject: visitor), parameters: ["audience": shared.environment.name])
            }
            return APIClient(configuration)
        }
        let clients = (client(profiles), client(orders))
        visitors[visitor] = clients
        return clients
    }

    /// Returns the value, or nothing if the service fails. A mistake of ours is not hidden: it is counted.
    private nonisolated func outcome<Value: Sendable>(_ call: () async throws -> Value) async -> Value? {
        do {
            return try await call()
        } catch {
            if (error as? ServiceError)?.isTransient != true { metrics.countMistake() }
            return nil
        }
    }
}
