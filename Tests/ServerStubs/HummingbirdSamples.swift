import Errand
import Hummingbird
import Logging
import ServiceLifecycle

struct Invoice: Codable, Sendable, ResponseEncodable {
    var id: Int
    var total: Double
}

func invoices(_ router: Router, billing: APIClient) {
    router.get("invoices/:id") { request, context -> Invoice in
        let id = try context.parameters.require("id", as: Int.self)
        do throws(ServiceError) {
            return try await billing.run(.get("invoices/\(id)"))
        } catch .rejected(let rejection) where rejection.status == 404 {
            throw HTTPError(.notFound)
        } catch {
            throw HTTPError(error.isTransient ? .serviceUnavailable : .badGateway)
        }
    }
}

struct BillingAPI: Service {
    let client: APIClient

    func run() async throws {
        // It throws when the task is canceled instead.
        try? await gracefulShutdown()
        await client.shutdown(within: .seconds(10))
    }
}

func serve(_ router: Router, billing: APIClient, logger: Logger) async throws {
    let group = ServiceGroup(
        services: [BillingAPI(client: billing), Application(router: router)],
        gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
}
