import Errand
import Vapor

struct Invoice: Content {
    var id: Int
    var total: Double
}

func routes(_ app: Application, billing: APIClient) {
    app.get("invoices", ":id") { request async throws -> Invoice in
        let id = try request.parameters.require("id", as: Int.self)
        do throws(ServiceError) {
            return try await billing.run(.get("invoices/\(id)"))
        } catch .rejected(let rejection) where rejection.status == 404 {
            throw Abort(.notFound)
        } catch {
            throw Abort(error.isTransient ? .serviceUnavailable : .badGateway)
        }
    }
}

func serve(_ app: Application, billing: APIClient) async throws {
    try await app.execute()
    try await app.asyncShutdown()
    await billing.shutdown(within: .seconds(10))
}
