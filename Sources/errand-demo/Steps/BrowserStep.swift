import Errand
import ExampleServer
import ExampleServices

extension Step {
    static let signInWithBrowser = Step(
        title: "Signing in with a browser", asked: "pins.signIn(using: browser); the password is entered on the page"
    ) { scene in
        let ann = ExampleData.ann
        let browser = scene.browser(entering: ["username": ann.userName, "password": ann.password])
        let account = try await scene.pins.signIn(using: browser)
        try expect(account.user.userName == ann.userName, "\(account.user.userName) is signed in")
        let exchanges = await scene.wire.count(of: "oauth/access_token")
        try expect(exchanges == 1, "\(exchanges) requests for one code")
        return "signed in as \(account.user.userName), without having seen the password"
    }
}

extension Scene {
    /// The system's browser, with a script in place of its user. It shows the address of the page.
    fileprivate func browser(entering form: QueryItems) -> SystemBrowser {
        SystemBrowser { [terminal] address in
            terminal.say("  page   \(address)")
        } open: { [visitor, terminal] address in
            // A browser is a program of its own. `end` ends its calls.
            Task {
                do throws(ServiceError) {
                    _ = try await visitor.run(Endpoint<String>.get(url: address))
                    // The redirect leads to the receiver, which responds with a page.
                    _ = try await visitor.run(Endpoint<String>(.post, url: address, body: .form(form)))
                } catch {
                    terminal.say("  page   \(error)", .bad)
                }
            }
        }
    }
}
