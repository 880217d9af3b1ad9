#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The transmissions that calls can join, by their requests.
final class SharedRequests: Sendable {
    /// What is equal in requests that share a transmission.
    struct Key: Hashable {
        private let method: HTTPMethod
        private let url: HTTPURL
        private let headers: HTTPHeaders
        /// The header that the client's jar adds; `nil` for none.
        private let cookies: String?
        private let session: UUID?
        private let rules: CallRules.Sending
        /// Whether it asks anew for what could not be decoded.
        private let isReload: Bool

        /// Returns `nil` if the request is not shared: it asks for something else than a whole response, it has a body,
        /// a refresh makes it, its rules cannot be compared, or its response must not be stored.
        init?(_ request: HTTPRequest, carrying cookies: String?, of transmission: Transmission) {
            let settings = transmission.settings
            guard request.method == .get || request.method == .head, request.body == nil,
                case .whole = settings.delivery, !settings.isRefreshCall,
                let rules = settings.rules.sending, !request.headers.forbidStoring
            else { return nil }
            (method, url, headers) = (request.method, request.url, request.headers)
            (self.cookies, session, self.rules) = (cookies, transmission.session, rules)
            isReload = transmission.isReload
        }
    }

    private let transmissions = Lock<[Key: SharedTransmission]>([:])

    /// Joins the transmission of an equal request, or the one that `begin` returns if there is none. Returns whether it
    /// is new.
    func join(
        _ key: Key, orBegin begin: () throws(ServiceError) -> SharedTransmission
    ) throws(ServiceError) -> (shared: SharedTransmission, isNew: Bool) {
        try transmissions.withLock { transmissions -> Result<(SharedTransmission, Bool), ServiceError> in
            if let shared = transmissions[key], shared.join() { return .success((shared, false)) }
            do throws(ServiceError) {
                let shared = try begin()
                _ = shared.join()
                transmissions[key] = shared
                return .success((shared, true))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// Lets no other call join the transmission.
    func close(_ key: Key, of shared: SharedTransmission) {
        transmissions.withLock { if $0[key] === shared { $0[key] = nil } }
    }

    /// Lets no other call join what is under way.
    func closeAll() {
        transmissions.withLock { $0 = [:] }
    }
}

extension HTTPHeaders {
    /// Whether the response must not be kept.
    fileprivate var forbidStoring: Bool {
        FieldParser.elements(of: values("Cache-Control"))?.contains { $0.equalsIgnoringCase("no-store") } ?? true
    }
}
