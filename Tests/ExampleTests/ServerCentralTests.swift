import Errand
import ExampleServer
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Example server: Central", .timeLimit(.minutes(10)))
struct ServerCentralTests {
    private struct User: Decodable, Sendable, Equatable {
        var id: Int
        var email: String
        var name: String
    }

    private let server: ExampleServer
    private let client: APIClient

    init() throws {
        server = try patientServer()
        client = plainClient(server.centralURL) { $0.parameters = ["version": "1.0", "device_type": "phone"] }
    }

    private func signIn(_ email: String?, _ password: String?) -> Endpoint<String> {
        Endpoint(.post, "authenticate", parameters: ["email": email, "password": password]).unwrapping("token")
    }

    private func check(_ token: String) -> Endpoint<User> {
        .get("token", headers: ["Authorization": "JWT \(token)"]).unwrapping("user")
    }

    @Test("an issued token lets its user in", arguments: ExampleData.accounts)
    func tokens(account: ExampleData.Account) async throws {
        let token = try await client.run(signIn(account.email, account.password))
        #expect(token.split(separator: ".").count == 3)
        #expect(token.hasPrefix("eyJ"))
        let user = try await client.run(check(token))
        #expect(user.id == account.id)
        #expect(user.email == account.email)
    }

    @Test("two sign-ins have two tokens, and both are valid")
    func twice() async throws {
        let first = try await client.run(signIn(ExampleData.ann.email, ExampleData.ann.password))
        let second = try await client.run(signIn(ExampleData.ann.email, ExampleData.ann.password))
        #expect(first != second)
        #expect(try await client.run(check(first)) == client.run(check(second)))
    }

    @Test(
        "a failed sign-in says why",
        arguments: [
            (nil, "x", 400, "Email and Password Required"), ("ann@example.com", "", 400, "Email and Password Required"),
            ("ann@example.com", "guess", 401, "The email or the password is wrong"),
            ("ben@example.com", "correct horse", 401, "The email or the password is wrong"),
        ] as [(String?, String, Int, String)])
    func refused(email: String?, password: String, status: Int, message: String) async throws {
        let error = await client.failure(of: signIn(email, password))
        #expect(error?.status == status)
        #expect(error?.localizedDescription == message)
    }

    @Test("a password in the URL does not count")
    func inQuery() async {
        let account = ExampleData.ann
        let query: QueryItems = ["email": account.email, "password": account.password]
        let error = await client.failure(of: Endpoint<NoContent>.post("authenticate", query: query))
        #expect(error?.localizedDescription == "Email and Password Required")
    }

    @Test("a token that was not issued, or with another scheme, is invalid")
    func invalid() async throws {
        #expect(await client.failure(of: check("a.b.c"))?.localizedDescription == "Invalid Token")
        let token = try await client.run(signIn(ExampleData.ann.email, ExampleData.ann.password))
        let bearer = Endpoint<User>.get("token", headers: ["Authorization": "Bearer \(token)"]).unwrapping("user")
        #expect(await client.failure(of: bearer)?.status == 401)
        server.endSessions()
        #expect(await client.failure(of: check(token))?.status == 401)
    }

    @Test("every request needs the version and the device")
    func common() async throws {
        for (parameters, message) in [
            (["device_type": "phone"], "version is missing"), (["version": "1.0"], "device_type is missing"),
            (["version": "2.0", "device_type": "phone"], "Version 2.0 is not spoken here, 1.0 is"),
            (["version": "1.0", "device_type": "toaster"], "No device is a toaster"),
        ] {
            let client = plainClient(server.centralURL) {
                for (name, value) in parameters { $0.parameters[name] = value }
            }
            for error in await [client.failure(of: check("a")), client.failure(of: signIn("a", "b"))] {
                #expect(error?.status == 400)
                #expect(error?.localizedDescription == message)
            }
        }
    }

    @Test("the old path of the check is gone")
    func outdated() async throws {
        #expect(await client.failure(of: Endpoint<NoContent>.get("checktoken"))?.status == 410)
    }

    @Test("a body that is not JSON is refused")
    func broken() async throws {
        let body = RequestBody.data(Data("{\"email\":".utf8), contentType: "application/json")
        let error = await client.failure(of: Endpoint<NoContent>.post("authenticate", body: body))
        #expect(error?.localizedDescription == "The body is not JSON")
    }
}
