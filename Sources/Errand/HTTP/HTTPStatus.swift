/// The registered status codes: their names, and what they mean for a retry.
enum HTTPStatus {
    /// The statuses after which a later response may have another one.
    static let transient: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// Returns whether a later response may have another status.
    static func isTransient(_ status: Int) -> Bool { transient.contains(status) }

    /// Returns whether a large gateway says with it that it cannot reach the server behind it.
    static func meansUnreachable(_ status: Int) -> Bool { (520...527).contains(status) }

    /// Returns the name of a status.
    static func reason(_ status: Int) -> String {
        reasons[status] ?? classes[status / 100] ?? "Unknown"
    }

    private static let classes = [
        1: "Informational", 2: "Success", 3: "Redirection", 4: "Client Error", 5: "Server Error",
    ]

    private static let reasons = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        412: "Precondition Failed", 413: "Content Too Large", 415: "Unsupported Media Type",
        422: "Unprocessable Content", 423: "Locked", 425: "Too Early", 428: "Precondition Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    ]
}
