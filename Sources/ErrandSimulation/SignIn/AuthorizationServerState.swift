import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AuthorizationServer {
    /// An error of OAuth (RFC 6749, 5.2).
    struct Refusal: Error {
        var status = 400
        let code: String
        /// The nonce that a proof has to have; `nil` if it is not about that.
        var nonce: String?
    }

    /// Parameters that were pushed.
    struct Pushed: Sendable {
        var form: [String: String]
        var expiry: Date
    }

    /// What the user has agreed to.
    struct Agreement: Sendable {
        var scopes: [String]
        var redirectURI: String?
        var challenge: String?
        var nonce: String?
        /// The thumbprint of the key that what was issued is bound to; `nil` if it is not.
        var key: String?
        /// The number of the sign-in, which all its tokens have; `nil` before the first of them.
        var family: Int?
    }

    /// A device that waits for its user.
    struct Device: Sendable {
        var agreement: Agreement
        /// When its code expires.
        var end: Instant
        /// The shortest time between two polls.
        var interval: Duration
        /// The last poll; `nil` if there was none.
        var polled: Instant?
    }

    /// An access token.
    struct Access: Sendable {
        var family: Int
        var end: Instant
        var key: String?
    }

    struct State {
        var misbehavior: Set<Misbehavior> = []
        var userAnswer = UserAnswer.agrees
        var claims: [String: JSONValue] = [:]
        /// What was agreed to, by code.
        var codes: [String: Agreement] = [:]
        /// What was pushed, by reference.
        var pushed: [String: Pushed] = [:]
        var requiresPushedParameters = false
        private var devices: [String: Device] = [:]
        private var refreshTokens: [String: Agreement] = [:]
        /// The numbers of sign-ins, by refresh tokens that were used.
        private var spent: [String: Int] = [:]
        private var accessTokens: [String: Access] = [:]
        private var families = 0
        private var issued = 0
        var userDelay = Duration.zero
        private(set) var revoked: [String] = []
        var proofNonce: String?
        /// The identifiers of the proofs that were accepted.
        var proofs: Set<String> = []

        mutating func next(_ kind: String) -> String {
            issued += 1
            return "\(kind)-\(issued)"
        }

        // MARK: Tokens

        /// Issues an access token, and a refresh token that continues the same sign-in.
        mutating func issue(
            for agreement: Agreement, until end: Instant, isRefreshable: Bool
        ) -> (access: String, refresh: String) {
            var agreement = agreement
            if agreement.family == nil { families += 1 }
            let family = agreement.family ?? families
            agreement.family = family
            let (access, refresh) = (next("access"), next("refresh"))
            accessTokens[access] = Access(family: family, end: end, key: agreement.key)
            if isRefreshable { refreshTokens[refresh] = agreement }
            return (access, refresh)
        }

        /// Returns what an access token is; `nil` if it was never issued, was revoked or has expired.
        func access(_ token: String, at now: Instant) -> Access? {
            accessTokens[token].flatMap { now < $0.end ? $0 : nil }
        }

        /// Takes a refresh token, which is good for one use, and for the holder of its key. The second use ends the
        /// tokens of the sign-in, because somebody else must have a copy (RFC 9700, 4.14.2).
        mutating func redeem(_ refresh: String, by key: String?) -> Agreement? {
            if let family = spent[refresh] {
                end(family)
                return nil
            }
            guard let found = refreshTokens[refresh], found.key == nil || found.key == key else { return nil }
            refreshTokens[refresh] = nil
            spent[refresh] = found.family
            return found
        }

        /// Revokes an access token, or with a refresh token all tokens of its sign-in (RFC 7009, 2.1).
        mutating func revoke(_ token: String) {
            revoked.append(token)
            accessTokens[token] = nil
            if let family = refreshTokens[token]?.family ?? spent[token] { end(family) }
        }

        private mutating func end(_ family: Int) {
            refreshTokens = refreshTokens.filter { $0.value.family != family }
            accessTokens = accessTokens.filter { $0.value.family != family }
        }

        // MARK: Devices

        /// Begins a sign-in on a device, and returns its code.
        mutating func begin(_ device: Device) -> String {
            let code = next("device")
            devices[code] = device
            return code
        }

        /// Returns what the user of a device has agreed to. A device that polls too fast has to wait five seconds more
        /// from then on (RFC 8628, 3.5).
        mutating func poll(_ code: String, at now: Instant) -> Result<Agreement, Refusal> {
            guard var device = devices[code] else { return .failure(Refusal(code: "invalid_grant")) }
            guard now < device.end else { return .failure(Refusal(code: "expired_token")) }
            let isTooFast =
                device.polled.map { now < $0.advanced(by: device.interval) } ?? misbehavior.contains(.slowDown)
            device.polled = now
            if isTooFast { device.interval += .seconds(5) }
            devices[code] = device
            if isTooFast { return .failure(Refusal(code: "slow_down")) }
            switch userAnswer {
            case .leaves: return .failure(Refusal(code: "authorization_pending"))
            case .refuses: return .failure(Refusal(code: "access_denied"))
            case .agrees:
                devices[code] = nil
                return .success(device.agreement)
            }
        }
    }
}
