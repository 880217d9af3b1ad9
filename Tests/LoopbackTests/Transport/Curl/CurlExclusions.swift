#if os(Linux)
import ErrandTestSupport
import ErrandTesting

/// The cases of the conformance suite that the installed libcurl does not pass, each with what happens instead.
enum CurlExclusions {
    static let table = InstalledLibrary.announcesRequests ? [:] : beforeAnnouncements

    /// Before 7.80.
    private static let beforeAnnouncements = [
        "C37: a 204 has no body, and the connection goes on": ownConnections,
        "C37: a 304 with a length has no body, and the connection goes on": ownConnections,
        "C37: a reply to HEAD with a length has no body, and the connection goes on": ownConnections,
        "C41: a thousand calls use one connection": ownConnections,
        "C45: a streamed body is what was sent, and the connection goes on": ownConnections,
    ]
    private static let ownConnections = "each request has a connection of its own"
}
#endif
