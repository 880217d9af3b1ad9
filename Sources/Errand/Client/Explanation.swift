#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A description of a request and its rules, for people.
struct Explanation {
    let request: HTTPRequest
    /// The body of the endpoint.
    let body: RequestBody?
    let rules: CallRules
    let configuration: Configuration
    /// What the cache would do; `nil` without a cache.
    let cache: String?
    /// To which of several servers it would go; `nil` if there is one.
    let server: String?
    /// The digests that are sent with the body.
    var digests: Set<BodyDigest> = []

    var text: String {
        """
        \(curl)

        signed:      \(signing)\(cookies)\(server.map { "\nserver:      \($0)" } ?? "")
        rate limit:  \(limits); each send takes \(rules.permits)
        timeout:     \(rules.timeout.map { "\($0.displayText) of silence in a send" } ?? "none")
        deadline:    \(rules.deadline?.displayText ?? "none")
        retry:       \(retrying)\(sharing)\(sentDigests)
        """ + (cache.map { "\ncache:       \($0)" } ?? "")
    }

    /// The request as a shell command. Every secret is masked; of bytes in memory, only the size is shown.
    private var curl: String {
        let redactor = Redactor(request.url.secretNames)
        let body = request.body.map { body in
            ExplainedBody(content: self.body?.content, body: body, redactor: redactor, quoted: quoted)
        }
        var lines = ["curl \(options) \(quoted(request.url.description))"]
        if configuration.tokens != nil, usesSession {
            lines.append("-H 'Authorization: \(Redactor.mask)'")
        }
        for field in request.headers {
            if body?.hasOwnContentType == true, field.name.lowercased() == "content-type" { continue }
            // curl would omit a header without a value after its colon.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(redactor.masked(field))"
            lines.append("-H \(quoted(line))")
        }
        if !cookiesToSend.isEmpty { lines.append("-H 'Cookie: \(Redactor.mask)'") }
        lines += body?.options ?? []
        return lines.joined(separator: " \\\n  ")
    }

    private var limits: String {
        (rules.limiter ?? configuration.limiter)?.limits ?? "\(configuration.rateLimit)"
    }

    /// The names of the digests. A digest itself could tell a short secret in the body to whoever tries all of them.
    private var sentDigests: String {
        let names = request.body == nil ? [] : digests.map(\.header).sorted()
        return names.isEmpty ? "" : "\ndigests:     \(names.joined(separator: ", ")) with a SHA-256 of the body"
    }

    private var usesSession: Bool { request.usesSession(for: rules.authentication) }

    private var sharing: String {
        guard configuration.sharesEqualRequests else { return "" }
        let isShared = request.method == .get || request.method == .head
        return "\nshared:      \(isShared ? "with equal requests that are under way" : "no, only GET and HEAD are")"
    }

    private var signing: String {
        if rules.authentication != .none, !usesSession { return "no, the request has its own Authorization header" }
        return switch rules.authentication.kind {
        case .required:
            configuration.tokens == nil
                ? "yes, but the client has no tokens: it fails" : "yes; fails without a signed-in user"
        case .optional: configuration.tokens == nil ? "no, the client has no tokens" : "if a user is signed in"
        case .automatic, .none: "no"
        }
    }

    /// The line about cookies, for a client that has a jar.
    private var cookies: String {
        guard let jar = configuration.cookies else { return "" }
        let words: String
        if request.headers["Cookie"] != nil {
            words = "those of the request's own header; the jar adds none"
        } else if !jar.isLoaded {
            words = "not known before the jar's file has been read"
        } else {
            let names = cookiesToSend.map { $0.cookie.name.isEmpty ? "one without a name" : $0.cookie.name.printable }
            words = names.isEmpty ? "none in the jar for this request" : names.joined(separator: ", ")
        }
        return "\ncookies:     \(words)"
    }

    /// The cookies that the jar would add.
    private var cookiesToSend: [JarState.Entry] {
        guard let jar = configuration.cookies, request.headers["Cookie"] == nil else { return [] }
        let session = usesSession ? configuration.tokens?.presentSession : nil
        return jar.entries(for: request.url, of: session, at: configuration.time.date)
    }

    private var retrying: String {
        guard rules.retry.attempts > 1 else { return "no, there is one attempt" }
        let times = "\(rules.retry.attempts) attempts"
        if request.method.isIdempotent { return "\(times), because \(request.method) is idempotent" }
        if request.isRepeatable { return "\(times), because the call has an idempotency key" }
        let reason = "\(request.method) without an idempotency key might take effect twice"
        return "\(times), but only if it is certain that nothing was sent: \(reason)"
    }

    /// The method, and the options that make curl take the URL literally.
    private var options: String {
        // With `-X HEAD` curl would wait for a body.
        let isPlainHead = request.method == .head && request.body == nil
        let name = request.method.rawValue
        let word = name.utf8.all(PercentEncoding.isAlphanumeric) ? name : quoted(name)
        var options = [isPlainHead ? "--head" : "-X \(word)"]
        let url = request.url.absoluteString.utf8
        // curl treats brackets and braces as patterns, and `%2E%2E` as a step up.
        if url.contains(where: "[]{}".utf8.contains) { options.append("--globoff") }
        if request.url.path.lowercased().contains("%2e") { options.append("--path-as-is") }
        return options.joined(separator: " ")
    }

    /// Returns the text as one word of a shell. Characters that cannot be shown become escapes, which bash decodes.
    private func quoted(_ text: String) -> String {
        guard text.printable != text else { return "'\(text.replacing("'", with: "'\\''"))'" }
        let escaped = text.unicodeScalars.map { scalar -> String in
            let text = String(scalar)
            if scalar == "'" || scalar == "\\" { return "\\\(text)" }
            if text.printable == text { return text }
            // After an escape of one digit, bash would read the next character as its second digit.
            return text.utf8.map { "\\x\($0 < 16 ? "0" : "")\(String($0, radix: 16))" }.joined()
        }
        return "$'\(escaped.joined())'"
    }
}

extension APIClient {
    /// Returns a description of what would be sent and by which rules: a redacted cURL command, the limits, whether and
    /// why the call may be retried, and what the cache would do. It looks at the files of a body and at the folder of a
    /// cache, and waits for their disks.
    ///
    /// It does not load the saved session of a ``TokenStore``. Until a call has, it cannot say what a cache on a disk
    /// has stored for the user.
    public nonisolated func explain<Response>(_ endpoint: Endpoint<Response>) -> String {
        let endpoint = endpoint.untyped
        let rules = rules(for: endpoint.ownOptions).rules
        do throws(ServiceError) {
            if let problem = rules.problem { throw .badSetting(problem) }
            let pipeline = try pipeline.get()
            let limiter = rules.limiter ?? limiter
            if let problem = limiter.problem(withCost: rules.permits) { throw .badSetting(problem) }
            let files = BodyFiles(lookingAt: endpoint.body?.files ?? [])
            let request = try pipeline.builder.request(for: endpoint, key: rules.idempotencyKey, files: files)
            try request.checkCleartext(by: configuration.cleartext, isSigned: configuration.signs(rules))
            let server = pipeline.serverOutlook(for: request, rules: rules, at: configuration.time.now)
            var sent = request
            if let server { sent.url = server.url }
            return Explanation(
                request: sent, body: endpoint.body, rules: rules, configuration: configuration,
                cache: pipeline.cacheOutlook(for: request, rules: rules),
                server: server?.text, digests: endpoint.options.digests
            ).text
        } catch {
            return "Nothing would be sent. \(error.detail)"
        }
    }
}
