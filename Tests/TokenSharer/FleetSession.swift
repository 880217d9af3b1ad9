import Errand
import ErrandFleet
import Foundation

/// One node of a fleet: it replaces the session's token once, and prints the new one, or that the user has to sign in.
/// Other failures pass, so it tries again.
func shareFleetSession(folder: String, key: String, server: String, milliseconds: Int) async {
    struct Issued: Decodable, Sendable {
        var access, refresh: String
    }
    guard let key = try? FleetKey(id: "k1", base64: key) else { return say("no key") }
    let client = APIClient(server) {
        $0.rateLimit = .unlimited
        $0.retry = .never
    }
    let sessions = FleetSessions(
        in: FileFleetStore(folder: folder), under: "errand/test", name: "api", key: key,
        lifetime: .milliseconds(milliseconds))
    let tokens = TokenStore(persistence: sessions) { old in
        let issued: Issued = try await client.run(.post("token", body: .json(["refresh": old.refreshToken])))
        return Token(accessToken: issued.access, refreshToken: issued.refresh)
    }
    guard let first = try? await tokens.token() else { return say("no session") }
    // All processes hold the same token before the first one replaces it.
    say("ready")
    _ = readLine()
    let outcome = await replacement(of: first, in: tokens)
    await tokens.waitUntilSaved()
    say(outcome)
}

private func replacement(of first: Token, in tokens: TokenStore) async -> String {
    for _ in 0..<200 {
        do throws(ServiceError) {
            return try await tokens.replacement(for: first).accessToken
        } catch {
            if case .sessionExpired(let expiry) = error, expiry.reason != .unreadable { return "sign-in" }
            if case .signInRequired = error { return "sign-in" }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
    return "nothing"
}
