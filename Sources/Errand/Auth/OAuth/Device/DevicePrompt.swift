#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What the user needs to sign in on another device: an address to open there, and a code to enter.
public struct DevicePrompt: Sendable, Hashable {
    /// The code that the user enters, safe to show.
    public let code: String
    /// The address of the page on which the user enters it.
    public let address: String
    /// The address of a page that knows the code already, for a QR code; `nil` if the server has none.
    public let completeAddress: String?
    /// When the code expires.
    public let expiry: Date

    /// Creates a prompt.
    public init(code: String, address: String, completeAddress: String? = nil, expiry: Date) {
        self.code = code
        self.address = address
        self.completeAddress = completeAddress
        self.expiry = expiry
    }
}

extension DevicePrompt: OpaqueReflectable {
    /// The address; the code is for the user only.
    public var description: String { "DevicePrompt(\(address))" }
}

/// The answer of a device authorization endpoint (RFC 8628, 3.2).
struct DeviceAnswer: Decodable, Sendable {
    let deviceCode: String
    let userCode: String
    let address: HTTPURL
    let completeAddress: HTTPURL?
    /// The seconds that the codes live.
    let lifetime: Double
    /// The seconds between polls; 5 if the server does not name them.
    let interval: Double

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: MemberName.self)
        func key(_ name: MemberName, _ camelName: MemberName) -> MemberName {
            members.name(name, camelName)
        }
        func wrong(_ key: MemberName, _ found: String) -> DecodingError {
            .typeMismatch(
                String.self, DecodingError.Context(codingPath: members.codingPath + [key], debugDescription: found))
        }
        /// The user opens it, so it must be a page, and one that others cannot replace on its way.
        func page(_ text: String, _ key: MemberName) throws -> HTTPURL {
            guard let url = try? HTTPURL(text), !url.origin.isExposed else { throw wrong(key, "no https URL") }
            return url
        }
        func text(_ key: MemberName) throws -> String {
            let text = try members.decode(String.self, forKey: key)
            guard !text.isEmpty else { throw wrong(key, "an empty text") }
            return text
        }
        deviceCode = try text(key("device_code", "deviceCode"))
        userCode = try text(key("user_code", "userCode"))
        // Google wrote it so before there was a standard.
        let standard = key("verification_uri", "verificationUri")
        let older = key("verification_url", "verificationUrl")
        let addressKey = members.contains(standard) || !members.contains(older) ? standard : older
        address = try page(members.decode(String.self, forKey: addressKey), addressKey)
        let completeKey = key("verification_uri_complete", "verificationUriComplete")
        let completeText = try members.decodeIfPresent(String.self, forKey: completeKey)
        completeAddress = try completeText.map { try page($0, completeKey) }
        guard let seconds = try members.number("expires_in", "expiresIn"), seconds > 0 else {
            throw wrong(key("expires_in", "expiresIn"), "no time at all")
        }
        lifetime = min(seconds, Self.longestLifetime)
        // Once a second is the most that a server can mean.
        interval = max(try members.number("interval", "interval") ?? 5, 1)
    }

    /// A day: no user takes longer.
    private static let longestLifetime = 86_400.0
}
