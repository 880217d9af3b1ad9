#if os(Linux)
import ErrandTestSupport
import ErrandTesting

/// The cases of the conformance suite that the installed libcurl does not pass, each with what happens instead.
enum CurlExclusions {
    /// Before 7.80, no connection is used again.
    static let table = InstalledLibrary.announcesRequests ? [:] : withOwnConnections

    /// The cases that a transport does not pass whose requests have connections of their own.
    static let withOwnConnections = [
        "C37: a 204 has no body, and the connection goes on": ownConnections,
        "C37: a 304 with a length has no body, and the connection goes on": ownConnections,
        "C37: a reply to HEAD with a length has no body, and the connection goes on": ownConnections,
        "C41: a thousand calls use one connection": ownConnections,
        "C45: a streamed body is what was sent, and the connection goes on": ownConnections,
    ]
    private static let ownConnections = "each request has a connection of its own"
}
#endif
