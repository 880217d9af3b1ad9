/// The decision about a server that has shown its certificate.
enum ServerVerdict: Sendable, Hashable {
    /// The system decides.
    case leftToSystem
    case trusted, refused

    /// Asks a user's closure, if there is one and a server is to be judged: a session also asks for passwords and
    /// certificates of the client, and then there is no trust object.
    init<Trust>(on trust: Trust?, of host: String, by judge: ((Trust, String) -> Bool)?) {
        guard let judge, let trust else {
            self = .leftToSystem
            return
        }
        self = judge(trust, host) ? .trusted : .refused
    }

    /// The error with which the exchange ends.
    var error: ServiceError? {
        self == .refused ? .transport(TransportFailure(.untrustedCertificate, "it was refused")) : nil
    }
}
