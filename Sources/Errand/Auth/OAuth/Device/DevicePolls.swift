/// The pace at which a program asks whether the user has signed in on another device (RFC 8628, 3.5), as a value.
///
/// The pause before each poll is the server's interval, which grows when the server says `slow_down`, and doubles with
/// each failure of the network or the server in a row.
struct DevicePolls: Sendable {
    /// What to do after a poll that brought no token.
    enum Step: Sendable, Equatable {
        case poll(after: Duration)
        case fail(ServiceError)
    }

    /// More is added when a server says only that it is too fast (RFC 8628, 3.5).
    private static let slowerBy = Duration.seconds(5)
    /// A user who has signed in does not wait longer because of a failure that has passed.
    private static let longestPause = Duration.seconds(60)

    /// More pages in a row are no passing fault: it is the wrong address.
    private static let mostPages = 5

    private(set) var interval: Duration
    private var failures = 0
    /// The pages for people in a row, in place of answers.
    private var pages = 0

    init(interval: Duration) {
        self.interval = interval
    }

    /// Notes the error of a poll.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - named: The interval that came with it, if any.
    mutating func next(after error: ServiceError, interval named: Duration? = nil) -> Step {
        switch error {
        case .rejected(let rejection) where rejection.code == "authorization_pending":
            failures = 0
        case .rejected(let rejection) where rejection.code == "slow_down":
            failures = 0
            if let named, named > interval { interval = named } else { interval += Self.slowerBy }
        case .rateLimited(let limited):
            failures += 1
            return .poll(after: max(pause, limited.retryAfter ?? .zero))
        case _ where error.isTransient: failures += 1
        case _ where error.isPage && pages < Self.mostPages:
            failures += 1
            pages += 1
            return .poll(after: pause)
        default: return .fail(error)
        }
        pages = 0
        return .poll(after: pause)
    }

    private var pause: Duration {
        guard failures > 0 else { return interval }
        // 2^6 intervals exceed every limit.
        return max(interval, min(interval * (1 << min(failures, 6)), Self.longestPause))
    }
}

extension ServiceError {
    /// Whether something on the way has answered with a page for people, such as a hotel's network.
    fileprivate var isPage: Bool {
        switch self {
        case .rejected(let rejection): rejection.code == nil && rejection.body.first == UInt8(ascii: "<")
        case .decodingFailed(let failure):
            failure.path.isEmpty && ["text/html", "a page of HTML or XML"].contains(failure.found)
        default: false
        }
    }
}
