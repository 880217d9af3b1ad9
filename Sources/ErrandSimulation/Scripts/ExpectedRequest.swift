import Errand

/// The requests that a script is for.
struct ExpectedRequest: Sendable {
    /// The method; `nil` for any.
    let method: HTTPMethod?
    /// The text of the script: a path, a path and a query, a whole URL, or `*`, alone or as the path of a URL.
    private let pattern: String
    /// The scheme, the host and the port; `nil` for any.
    private let origin: Origin?
    /// The path; `nil` for any.
    private let path: String?
    /// The query; `nil` for any.
    private let query: Fields?
    private let isQueryOrdered: Bool
    private let headers: HTTPHeaders
    private let body: ExpectedBody?

    init(
        _ method: HTTPMethod?, _ pattern: String, headers: HTTPHeaders = [:], body: ExpectedBody? = nil,
        isQueryOrdered: Bool = false
    ) {
        self.method = method
        self.pattern = pattern
        self.headers = headers
        self.body = body
        self.isQueryOrdered = isQueryOrdered
        let url = pattern.contains("://") ? try? HTTPURL(pattern) : nil
        origin = url?.origin
        let parts = (url?.target ?? pattern).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = pattern == "*" || url?.path == "/*" ? nil : parts.first.map(String.init) ?? ""
        query = parts.count > 1 ? Fields(query: parts[1]) : nil
    }

    /// Returns whether the request is expected.
    func matches(_ sent: ScriptedTransport.Sent) -> Bool {
        let request = sent.request
        return hasMethod(request) && hasPlace(request) && headers.isEmpty(except: request.headers)
            && queryDifference(request) == nil && bodyDifference(sent) == nil
    }

    /// Returns whether the request goes to the path of the script with its method, whatever else it contains.
    func isMeant(by request: HTTPRequest) -> Bool {
        hasMethod(request) && hasPlace(request)
    }

    /// Returns what of the request is not as expected; empty if it matches.
    func differences(_ sent: ScriptedTransport.Sent) -> [Difference] {
        let request = sent.request
        var found: [Difference] = []
        if !hasMethod(request) {
            found.append(Difference(.method, [method?.rawValue ?? ""], [request.method.rawValue]))
        }
        if let origin, origin != request.url.origin {
            found.append(Difference(.server, ["\(origin)"], ["\(request.url.origin)"]))
        }
        if let path, !Self.isSame(path, request.url.path) {
            let common = zip(path.split(separator: "/"), request.url.path.split(separator: "/")).count { $0 == $1 }
            let longest = max(path.split(separator: "/").count, request.url.path.split(separator: "/").count)
            var difference = Difference(.path, [path], [Redactor.standard.text(request.url.path)])
            difference.weight *= max(longest - common, 1)
            found.append(difference)
        }
        if let difference = queryDifference(request) { found.append(difference) }
        for field in headers where !request.headers.values(field.name).contains(field.value) {
            // The script names the header, so its value may be shown.
            let values = request.headers.values(field.name).map { "\(field.name): \($0)".shortened }
            found.append(Difference(.header, ["\(field.name): \(field.value)"], values))
        }
        if let difference = bodyDifference(sent) { found.append(difference) }
        return found
    }

    private func hasMethod(_ request: HTTPRequest) -> Bool {
        method == nil || method == request.method
    }

    private func hasPlace(_ request: HTTPRequest) -> Bool {
        if let origin, origin != request.url.origin { return false }
        return path.map { Self.isSame($0, request.url.path) } ?? true
    }

    /// Compares segment by segment, so that a script may contain characters that a URL escapes.
    private static func isSame(_ path: String, _ other: String) -> Bool {
        if path == other { return true }
        guard path.contains("%") || other.contains("%") else { return false }
        let segments = [path, other].map { path in
            path.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.decode($0) }
        }
        return segments[0] == segments[1]
    }

    private func queryDifference(_ request: HTTPRequest) -> Difference? {
        guard let query else { return nil }
        let sent = Fields(query: Substring(request.url.query ?? ""))
        return query.difference(from: sent, as: .query, isOrdered: isQueryOrdered, redactor: request.url.redactor)
    }

    private func bodyDifference(_ sent: ScriptedTransport.Sent) -> Difference? {
        body?.difference(from: sent.body, redactor: sent.request.url.redactor)
    }
}

extension ExpectedRequest: CustomStringConvertible {
    var description: String { "\(method?.rawValue ?? "any method") \(pattern)" }
}

extension HTTPHeaders {
    /// Returns whether all fields occur in `other`.
    fileprivate func isEmpty(except other: HTTPHeaders) -> Bool {
        allSatisfy { other.values($0.name).contains($0.value) }
    }
}
