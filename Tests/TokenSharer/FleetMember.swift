import Errand
import ErrandFleet
import Foundation

/// A node of a fleet that shares a session. The store is a folder, or the address of an etcd.
struct FleetMember {
    private let tokens: TokenStore

    /// Creates a node; `nil` if the key is none.
    init?(store: String, key: String, server: String, milliseconds: Int) {
        struct Issued: Decodable, Sendable {
            var access, refresh: String
        }
        guard let key = try? FleetKey(id: "k1", base64: key) else { return nil }
        let client = APIClient(server) {
            $0.rateLimit = .unlimited
            $0.retry = .never
        }
        let store: any FleetStore =
            store.hasPrefix("http") ? EtcdFleetStore([store]) : FileFleetStore(folder: store)
        let sessions = FleetSessions(
            in: store, under: "errand/test", name: "api", key: key, lifetime: .milliseconds(milliseconds))
        tokens = TokenStore(persistence: sessions) { old in
            let issued: Issued = try await client.run(.post("token", body: .json(["refresh": old.refreshToken])))
            return Token(accessToken: issued.access, refreshToken: issued.refresh)
        }
    }

    /// Prints a valid token.
    func use() async {
        do {
            say(try await tokens.token().accessToken)
            await tokens.waitUntilSaved()
        } catch {
            say("\(error)")
            exit(1)
        }
    }

    /// Replaces the token once, and prints the new one, or that the user has to sign in. Other failures pass, so it
    /// tries again.
    func replace() async {
        guard let first = try? await tokens.token() else { return say("no session") }
        // All processes hold the same token before the first one replaces it.
        say("ready")
        _ = readLine()
        let outcome = await replacement(of: first)
        await tokens.waitUntilSaved()
        say(outcome)
    }

    private func replacement(of first: Token) async -> String {
        for _ in 0..<200 {
            do throws(ServiceError) {
                return try await tokens.replacement(for: first).accessToken
            } catch {
                if case .sessionExpired(let expiry) = error, expiry.reason != .unreadable { return "sign-in" }
                if case .signInRequired = error { return "sign-in" }
                // A pause before the next attempt, as a program makes it.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        return "nothing"
    }
}
