#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What would be sent and by which rules, as text for a person.
struct Explanation {
    let request: HTTPRequest
    let rules: CallRules
    let configuration: Configuration

    var text: String {
        """
        \(curl)

        signed:      \(signing)
        rate limit:  \(configuration.limiter?.limit ?? configuration.rateLimit); an attempt takes \(rules.cost)
        timeout:     \(rules.timeout.spoken) for each attempt
        deadline:    \(rules.deadline?.spoken ?? "none")
        retry:       \(retrying)
        """
    }

    private var redactor: Redactor {
        Redactor(headers: configuration.secretHeaders)
    }

    /// The request as a command for a shell; every secret is masked, and a body is named but not shown.
    private var curl: String {
        var lines = ["curl -X \(request.method) \(quoted(request.url.description))"]
        if configuration.tokens != nil, rules.authentication != .none, request.headers["Authorization"] == nil {
            lines.append("-H 'Authorization: \(Redactor.mask)'")
        }
        for field in request.headers { lines.append("-H \(quoted("\(field.name): \(redactor.value(of: field))"))") }
        if let body = request.body { lines.append("--data-binary '‹\(body)›'") }
        return lines.joined(separator: " \\\n  ")
    }

    private var signing: String {
        switch rules.authentication {
        case .required:
            configuration.tokens == nil
                ? "yes, but the client has no tokens: it fails" : "yes; fails without a signed-in user"
        case .optional: configuration.tokens == nil ? "no, the client has no tokens" : "if a user is signed in"
        case .none: "no"
        }
    }

    private var retrying: String {
        guard rules.retry.attempts > 1 else { return "no, there is one attempt" }
        let times = "\(rules.retry.attempts) attempts"
        if request.method.isIdempotent { return "\(times), because \(request.method) can be repeated without harm" }
        if request.isRepeatable { return "\(times), because the call has an idempotency key" }
        return
            "\(times), but only if it is certain that nothing was sent: \(request.method) without an idempotency key might be done twice"
    }

    private func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}
