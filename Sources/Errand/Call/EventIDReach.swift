/// The origins to which `Last-Event-ID` may go, beside that of the endpoint.
///
/// The identifier is no credential, but it means something only to the server that has named it: any other would skip
/// events by it, or learn what it need not know.
enum EventIDReach: Sendable {
    /// No other origin.
    case ownOrigin
    /// The origin that has sent the event with the identifier.
    case source(Origin)
    /// Any that the endpoint's own origin redirects to: the caller named the identifier, and it is not known where it
    /// came from.
    case anywhere

    /// Returns whether the identifier may go to `origin`, to which `redirecting` has redirected.
    func includes(_ origin: Origin, from redirecting: Origin, ofEndpointAt own: Origin) -> Bool {
        switch self {
        case .ownOrigin: false
        case .source(let source): source == origin
        case .anywhere: redirecting == own
        }
    }
}
