#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Ends the calls of a session along with it (T6, T7, T20), so that no screen receives the data of an earlier user.
///
/// A call does not register for that, which would cost each of them: when a session ends, the store asks its clients,
/// and each looks through its running calls. None escapes. A call has its session before Admission looks at that for
/// the last time. If the session ends before, Admission fails; if it ends after, the call is among the running ones.
extension CallsInFlight: SessionKeeper {
    func stop(session: UUID, because reason: ServiceError) {
        let (calls, transmissions) = running
        for call in calls where call.session == session && !call.outlivesSession { call.stop(reason) }
        for shared in transmissions where shared.transmission.session == session && !shared.outlivesSession {
            shared.transmission.stop(reason)
        }
    }
}
