#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The transmissions that calls can join, by their requests.
final class SharedRequests: Sendable {
    /// What is equal in requests that share a transmission.
    struct Key: Hashable {
        private struct Content: Hashable {
            let method: HTTPMethod
            let url: HTTPURL
            let headers: HTTPHeaders
            /// The header that the client's jar adds; `nil` for none.
            let cookies: String?
            let session: UUID?
            let rules: CallRules.Sending
            /// Whether it asks anew for what could not be decoded.
            let isReload: Bool
        }

        /// Computed once, and before the lock: it takes as long as all else that is done under it.
        fileprivate let hash: Int
        private let content: Content

        /// Returns `nil` if the request is not shared: it asks for something else than a whole response, it has a body,
        /// a refresh makes it, its rules cannot be compared, or its response must not be stored.
        init?(_ request: HTTPRequest, carrying cookies: String?, of transmission: Transmission) {
            let settings = transmission.settings
            guard request.method == .get || request.method == .head, request.body == nil,
                case .whole = settings.delivery, !settings.isRefreshCall,
                let rules = settings.rules.sending, !request.headers.forbidStoring
            else { return nil }
            content = Content(
                method: request.method, url: request.url, headers: request.headers, cookies: cookies,
                session: transmission.session, rules: rules, isReload: transmission.isReload)
            hash = content.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    /// Transmissions under a lock of their own. There are several, because each call begins under one.
    private final class Part: Sendable {
        let transmissions = Lock<[Key: SharedTransmission]>([:])
    }

    private let parts = (0..<16).map { _ in Part() }

    private func part(of key: Key) -> Part { parts[key.hash & (parts.count - 1)] }

    /// Joins the transmission of an equal request, or the one that `begin` returns if there is none. Returns whether it
    /// is new.
    func join(
        _ key: Key, orBegin begin: () throws(ServiceError) -> SharedTransmission
    ) throws(ServiceError) -> (shared: SharedTransmission, isNew: Bool) {
        try part(of: key).transmissions.withLock { transmissions -> Result<(SharedTransmission, Bool), ServiceError> in
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
        part(of: key).transmissions.withLock { if $0[key] === shared { $0[key] = nil } }
    }

    /// Lets no other call join what is under way.
    func closeAll() {
        for part in parts { part.transmissions.withLock { $0 = [:] } }
    }
}

extension HTTPHeaders {
    /// Whether the response must not be kept.
    fileprivate var forbidStoring: Bool {
        FieldParser.elements(of: values("Cache-Control"))?.contains { $0.equalsIgnoringCase("no-store") } ?? true
    }
}
