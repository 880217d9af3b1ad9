import Errand
import ExampleServer
import ExampleServices
import Foundation

extension Step {
    static let signIn = Step(
        title: "Signing in", asked: "pins.signIn(name: \"ann\", password: …)"
    ) { scene in
        let ann = ExampleData.ann
        let refusal = try await failure { () async throws(ServiceError) in
            try await scene.pins.signIn(name: ann.userName, password: "a wrong one")
        }
        try expect(refusal.isWrongPassword, "it was refused for another reason: \(refusal)")
        let account = try await scene.pins.signIn(name: ann.userName, password: ann.password)
        let signedIn = "signed in as \(account.user.userName) with \(account.token.type) token ‹redacted›"
        return "refused first (“\(refusal.localizedDescription)”), then \(signedIn)"
    }

    static let refreshOnce = Step(
        title: "Fifty calls on an expired token", asked: "pins.user(), fifty times at once"
    ) { scene in
        var token: Token
        do throws(ServiceError) {
            token = try await scene.pins.tokens.token()
        } catch {
            throw Failure(description: "no user is signed in: \(error)")
        }
        // Simulates that a minute has passed.
        token.expiry = Date(timeIntervalSinceNow: -1)
        await scene.pins.tokens.signIn(token)
        await scene.wire.empty()
        let total = 50
        let done = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<total { group.addTask { try await scene.pins.user().userName } }
            var done = 0
            for try await _ in group {
                done += 1
                scene.terminal.showProgress(done, of: total, "answered")
            }
            return done
        }
        let refreshes = await scene.wire.count(of: "oauth/access_token")
        try expect(refreshes == 1, "\(refreshes) refreshes for one expired token")
        return "\(done) answers, after \(refreshes) refresh"
    }

    static let signOut = Step(title: "Signing out", asked: "pins.signOut(), then pins.user()") { scene in
        await scene.pins.signOut()
        await scene.wire.empty()
        let error = try await failure { () async throws(ServiceError) in try await scene.pins.user() }
        try expect(error == .signInRequired, "\(error)")
        let sent = await scene.wire.all.count
        try expect(sent == 0, "\(sent) requests were sent without a session")
        return "“\(error.localizedDescription)”, and nothing was sent"
    }
}
