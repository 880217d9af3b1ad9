#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An access token, and what is known about it. It prints without its secrets.
public struct Token: Sendable, Hashable, Codable {
    /// The access token itself.
    public var access: String
    /// What a new access token can be had for.
    public var refresh: String?
    /// The scheme of the `Authorization` header: `Bearer`, `JWT`, …
    public var type: String
    /// When the access token expires; `nil` if that is not known.
    public var expiry: Date?
    /// What the token may be used for.
    public var scopes: [String]

    /// Makes a token.
    public init(
        access: String, refresh: String? = nil, type: String = "Bearer", expiry: Date? = nil, scopes: [String] = []
    ) {
        self.access = access
        self.refresh = refresh
        self.type = type
        self.expiry = expiry
        self.scopes = scopes
    }

    /// What the `Authorization` header gets.
    var authorization: String { "\(type) \(access)" }
}

extension Token: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The token without its secrets.
    public var description: String {
        // Foundation cannot put a date into words that is no number, and ends the process.
        let expiry = expiry.flatMap { $0.timeIntervalSince1970.isNaN ? nil : "\($0)" } ?? "unknown"
        let refresh = refresh == nil ? "none" : Redactor.mask
        return "Token(\(type) \(Redactor.mask), refresh: \(refresh), expiry: \(expiry), scopes: \(scopes))"
    }
    /// The token without its secrets.
    public var debugDescription: String { description }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["token": description]) }
}
