public import Errand

extension Central {
    /// Something that is reported in one place, in the order in which it happened.
    enum Report: Sendable {
        /// An event of a call, and the number of the client: each change of the settings makes a client, which counts
        /// its calls from 1.
        case event(ClientEvent, client: Int)
        /// A failure that occurred before a call began, and the call that was intended.
        case early(ServiceError, of: String)

        /// The failure to show to the user; `nil` if nothing has failed. What was canceled has not failed.
        var failure: ServiceError? {
            let failure =
                switch self {
                case .event(let event, _): event.failure
                case .early(let error, _): error
                }
            return failure == .cancelled ? nil : failure
        }

        /// The line of the log, without secrets.
        var line: String {
            switch self {
            case .event(let event, let client): "#\(client).\(LogFormatter().line(for: event).dropFirst())"
            case .early(let error, let call): "\(call)  ended before it was sent: \(error.debugDescription)"
            }
        }
    }

    /// What has been reported, for those who listen.
    final class Reports: Sendable {
        fileprivate let failures = Broadcast<ServiceError>()
        fileprivate let lines = Broadcast<String>()

        func send(_ report: Report) {
            if let failure = report.failure { failures.send(failure) }
            if lines.hasListeners { lines.send(report.line) }
        }

        func finish() {
            failures.finish()
            lines.finish()
        }
    }

    /// The failures from now on, in the order in which the calls ended: an app shows its alerts in one place. Canceled
    /// calls are not reported. Each listener receives all failures; a listener that falls a hundred behind loses the
    /// oldest.
    public nonisolated var failures: AsyncStream<ServiceError> {
        reports.failures.stream(capacity: 100)
    }

    /// What happens from now on, as lines of text without secrets: the events of all calls, and failures before a call.
    /// Each listener receives all lines; a listener that falls a thousand behind loses the oldest.
    public nonisolated var log: AsyncStream<String> {
        reports.lines.stream(capacity: 1000)
    }
}
