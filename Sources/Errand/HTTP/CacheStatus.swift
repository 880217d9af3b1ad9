/// How the cache of a client took part in a response.
///
///     let reply = try await client.reply(to: .friends)
///     if let cache = reply.cache { print(cache) }  // hit, 12 s old
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// What the cache did.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// The response was stored and fresh. Nothing was sent, except with ``CachePolicy/networkFirst(within:)``.
        case hit
        /// The response was stored, and the server has confirmed that it is still current.
        case revalidated
        /// The response was stored and has expired. The reason says why it was used.
        case stale
        /// The response came from the server. If it was not stored, the reason says why.
        case miss

        /// The name of the kind.
        public var description: String { rawValue }
    }

    /// Why a stale response was used, or why a response was not stored.
    @nonexhaustive public enum Reason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// Stale: the server allows that while the response is refreshed.
        case refreshing
        /// Stale: the server could not be reached, or has failed.
        case serverFailed
        /// Stale: the server has not responded within the time of ``CachePolicy/networkFirst(within:)``.
        case serverIsSlow
        /// Stale: the request accepts it.
        case accepted

        /// Not stored: the call may only be answered from the cache, and nothing usable is stored.
        case onlyIfCached
        /// Not stored: the request or the response forbids it, with `no-store` for instance.
        case forbidden
        /// Not stored: the cache does not handle such requests, such as those for a range or with a condition; or the
        /// response is a stream.
        case bypassed
        /// Not stored: responses with that status are not stored.
        case status
        /// Not stored: the server gives neither a lifetime nor a validator such as an `ETag`, and the call accepts no
        /// expired response.
        case noLifetime
        /// Not stored: the response varies on everything, or its `Vary` header is malformed.
        case varies
        /// Not stored: the response depends, or may depend, on a header that was added or changed after the cache, by a
        /// middleware for instance.
        case addedBelow
        /// Not stored: the response sets a cookie and belongs to no session. Whoever was given it later would not have
        /// the cookie.
        case setsCookie
        /// Not stored: the response is too large for the cache.
        case tooLarge
        /// Not stored: the folder of the cache cannot be written, because the disk is full for instance.
        case notWritten
        /// Not stored: what it depends on was changed or removed while the request was on its way.
        case overtaken

        /// What the reason says.
        public var description: String {
            switch self {
            case .refreshing: "it is being refreshed"
            case .serverFailed: "the server could not answer"
            case .serverIsSlow: "the server has not answered in time"
            case .accepted: "the request accepts it"
            case .onlyIfCached: "nothing usable is stored, and the call may only use the cache"
            case .forbidden: "it must not be stored"
            case .bypassed: "the cache does not handle such requests"
            case .status: "responses with that status are not stored"
            case .noLifetime: "it has neither a lifetime nor a validator"
            case .varies: "it varies on everything"
            case .addedBelow: "it depends on a header that was added after the cache"
            case .setsCookie: "it sets a cookie and belongs to no session"
            case .tooLarge: "it is too large"
            case .notWritten: "the folder of the cache cannot be written"
            case .overtaken: "it was removed, or a later request was answered, while the request was on its way"
            }
        }
    }

    /// What the cache did.
    public let kind: Kind
    /// The time since the server created or confirmed the response; `nil` if it came from the server now.
    public let age: Duration?
    /// Why a stale response was used, or why the response was not stored; otherwise `nil`.
    public let reason: Reason?

    init(_ kind: Kind, age: Duration? = nil, reason: Reason? = nil) {
        self.kind = kind
        self.age = age
        self.reason = reason
    }

    /// Whether nothing was sent for the response: then nothing is repeated either.
    var isLocal: Bool { kind == .hit || kind == .stale || reason == .onlyIfCached }

    /// The kind with the age or the reason: `stale, 70 s old: the server could not answer`.
    public var description: String {
        let age = age.map { ", \($0.components.seconds) s old" } ?? ""
        let because = reason.map { kind == .miss ? ", not stored: \($0)" : ": \($0)" } ?? ""
        return "\(kind)\(age)\(because)"
    }
}
