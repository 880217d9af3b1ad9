@testable import Errand
import ErrandTestSupport
import Foundation

/// Notes the sessions that end.
final class SessionListener: SessionKeeper {
    struct End: Equatable, Sendable {
        let session: UUID?
        let reason: ServiceError

        init(_ session: UUID?, _ reason: SessionExpiry.Reason) {
            self.init(session, because: .sessionExpired(SessionExpiry(reason)))
        }

        init(_ session: UUID?, because reason: ServiceError) {
            (self.session, self.reason) = (session, reason)
        }
    }

    let ends = Noted<[End]>([])

    func stop(session: UUID, because reason: ServiceError) {
        ends.update { $0.append(End(session, because: reason)) }
    }
}
