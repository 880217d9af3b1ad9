import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// The accounts that are signed in on this machine.
actor SignedInAccounts {
    private(set) var current: String?
    private var clients: [String: APIClient] = [:]
    private let oauth: OAuth
    private let folder: String
    private let configure: @Sendable (inout Configuration) -> Void

    init(_ oauth: OAuth, folder: String, _ configure: @escaping @Sendable (inout Configuration) -> Void) {
        (self.oauth, self.folder, self.configure) = (oauth, folder, configure)
    }

    /// Signs in one more account, or the same one again, and switches to it.
    func add(using browser: some Browser) async throws(ServiceError) {
        // Without the prompt, the server would sign in the user that the browser remembers.
        let token = try await oauth.signIn(
            scopes: ["openid"], using: browser, parameters: ["prompt": "select_account"])
        guard let account = token.claims?.subject else { return }
        await client(of: account).configuration.tokens?.signIn(token)
        current = account
    }

    /// Makes another account the current one.
    func change(to account: String) {
        current = account
    }

    /// Returns the client of an account, which keeps its session between two runs of the app.
    func client(of account: String) -> APIClient {
        if let client = clients[account] { return client }
        // The server chooses the name, so it must not lead out of the folder.
        let name = Data(account.utf8).map { String($0, radix: 16) }.joined(separator: "-")
        let oauth = oauth
        let client = APIClient("https://api.example.com") {
            configure(&$0)
            $0.tokens = TokenStore(persistence: .file("\(folder)/\(name)"), time: $0.time) {
                try await oauth.refresh($0)
            } revoke: {
                if oauth.canRevoke { try await oauth.revoke($0) }
            }
        }
        clients[account] = client
        return client
    }

    /// Signs out of one account. The others stay signed in.
    func remove(_ account: String) async {
        let client = client(of: account)
        clients[account] = nil
        if current == account { current = nil }
        await client.configuration.tokens?.signOut()
        await client.shutdown()
        await client.configuration.tokens?.waitUntilSaved()
    }
}

@Suite("Several accounts at once", .timeLimit(.minutes(10)))
struct AccountSamples {
    private let network = scripted()
    private let server = AuthorizationServer()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString)").path

    private func accounts() async throws -> SignedInAccounts {
        server.serve(on: network)
        network.on(.get, "https://api.example.com/me") { request in
            .status(200, headers: ["Content-Type": "text/plain"], body: (request.headers["Authorization"] ?? ""))
        }
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) { [network] in
            $0.transport = network
            $0.rateLimit = .unlimited
        }
        return SignedInAccounts(oauth, folder: folder) { [network] in
            $0.transport = network
            $0.rateLimit = .unlimited
        }
    }

    private func me(_ account: String, _ accounts: SignedInAccounts) async throws -> String {
        try await accounts.client(of: account).run(Endpoint<String>.get("me"))
    }

    @Test("calls of both accounts are signed with their own token, before and after switching, and in the next run")
    func switching() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let accounts = try await accounts()
        try await accounts.add(using: server.browser)
        let ann = try await me("ann", accounts)
        // A hostile name stays in the folder.
        server.claims = ["sub": "../ben"]
        try await accounts.add(using: server.browser)
        #expect(await accounts.current == "../ben")
        let ben = try await me("../ben", accounts)
        #expect(ann.hasPrefix("Bearer access-") && ben.hasPrefix("Bearer access-") && ann != ben)
        await accounts.change(to: "ann")
        #expect(try await me("ann", accounts) == ann)
        #expect(try await me("../ben", accounts) == ben)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.count >= 2)
        // In the next run both are there.
        let next = try await self.accounts()
        #expect(try await me("ann", next) == ann)
        #expect(try await me("../ben", next) == ben)
        await next.remove("ann")
        #expect(server.revokedTokens.count == 1)
        #expect(try await me("../ben", next) == ben)
        await #expect(throws: ServiceError.signInRequired) { try await me("ann", next) }
    }
}
