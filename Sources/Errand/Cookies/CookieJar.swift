#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// Keeps the cookies that servers set, and sends them back.
///
///     let client = APIClient("https://api.example.com") {
///         $0.cookies = CookieJar(sites: ["example.com"])
///     }
///
/// A jar follows RFC 6265bis, within limits:
///
/// - A client sends and keeps cookies for its own host, and for hosts that are or lie below one of the sites you name,
///   wherever a redirect leads.
/// - A server may share a cookie with other hosts (`Domain`) up to one of the sites, and no further. Without sites,
///   each cookie belongs to the one host that has set it. Name no domain below which strangers have hosts, such as
///   `co.uk` or `github.io`.
/// - A cookie that a signed call has brought or carried belongs to its session, and is removed when the session ends.
///   Calls that are not signed carry only the cookies of no session.
/// - The jar keeps 50 cookies of a domain for each session, and 3,000 in all, each of at most 4 KiB and for at most 400
///   days. Those that were set longest ago go first. A cookie without an expiry is kept until the program ends.
///
/// Several clients may share a jar, whether of one site or of several: each sends only the cookies of its own site. No
/// description shows the value of a cookie. <doc:Cookies> has examples.
public final class CookieJar: Sendable {
    let sites: CookieSites
    private let saved: SavedCookies
    private let hasReportedSite = Atomic(false)

    /// Creates a jar that keeps its cookies in memory, or in a private file too.
    ///
    /// The file is read when the first client with the jar is created, and written after each change, whole or not at
    /// all. Only its owner can read it. A damaged file is moved aside, under a name that ends in `.damaged`, and the
    /// jar begins empty. One that cannot be read stays as it is, and the cookies are kept in memory. Clients report
    /// both as ``ClientEvent/Kind/warned(_:)``, and ``storageError`` has the reason. Cookies without an expiry are not
    /// saved, and neither are those of a session that no later process knows, because its ``TokenStore`` saves it
    /// nowhere. Let only one jar use a file.
    ///
    /// - Parameters:
    ///   - sites: The domains below which hosts may share cookies, such as `example.com`; none by default. If one has
    ///     only one label or is no domain, the calls of a client with the jar fail with `.invalidRequest`.
    ///   - file: The path of the file; `nil`, no file, by default.
    public init(sites: [String] = [], file: String? = nil) {
        self.sites = CookieSites(sites)
        saved = SavedCookies(file.map(JarFile.init))
    }

    /// The cookies in the jar, the oldest first. Waits until the file has been read.
    ///
    /// Cookies that have expired may be among them. They are not sent, and make room when it is needed.
    public var cookies: [Cookie] {
        get async {
            await saved.load()
            return saved.read { $0.entries.map(\.cookie) }
        }
    }

    /// The reason why the file could not be read or written last time; `nil` if nothing went wrong.
    public var storageError: ServiceError? { saved.problem }

    /// Adds cookies, for example those of another jar. They replace those with the same name, domain and path, and
    /// belong to no session until a signed call carries them.
    ///
    /// Throws `.invalidRequest`, and adds none, if no server could set one of them.
    public func insert(_ cookies: [Cookie]) throws(ServiceError) {
        if let problem = cookies.lazy.compactMap(\.problem).first { throw .badSetting(problem) }
        let now = SystemTime.shared.date
        saved.change { (jar: inout JarState) -> Void? in
            for cookie in cookies { jar.restore(cookie, of: nil, at: now) }
        }
    }

    /// Removes all cookies, those of every session. The file is removed beside that; ``waitUntilSaved()`` waits for it.
    public func removeAll() {
        saved.removeAll()
    }

    /// Waits until the file has all changes. Call it before a program ends.
    public func waitUntilSaved() async {
        await saved.waitUntilSaved()
    }

    // MARK: For a client

    /// Begins to read the file, unless that has begun.
    func startLoading(by time: any TimeSource) {
        saved.startLoading(by: time)
    }

    /// Whether a call can use the cookies without a wait.
    var isLoaded: Bool { saved.isLoaded }

    /// Waits until the file has been read.
    func load(by time: any TimeSource, in scope: CallScope) async throws(ServiceError) {
        try await saved.load(by: time, in: scope)
    }

    /// The cookies that a request would carry now.
    func entries(for url: HTTPURL, of session: UUID?, at now: Date) -> [JarState.Entry] {
        saved.read { $0.entries(for: CookieSource(url), of: session, at: now) }
    }

    /// Returns the value of the `Cookie` header for a request of that owner; `nil` if it carries no cookie.
    func header(for url: HTTPURL, of owner: CookieOwner?, by time: any TimeSource) -> String? {
        let (source, now) = (CookieSource(url), time.date)
        return saved.change(of: owner, by: time) { $0.header(for: source, of: owner?.session, at: now) }
    }

    /// Returns the value of the `Cookie` header that a request of that session would have now; `nil` if it would carry
    /// no cookie. Nothing changes.
    func expectedHeader(for url: HTTPURL, of session: UUID?, at now: Date) -> String? {
        let source = CookieSource(url)
        return saved.read { $0.expectedHeader(for: source, of: session, at: now) }
    }

    /// Keeps what a response to a request of that owner sets. Returns why the jar has refused a cookie that it would
    /// keep with other sites.
    func store(
        _ values: [String], from url: HTTPURL, of owner: CookieOwner?, by time: any TimeSource
    ) -> CookieRefusal? {
        let (source, now) = (CookieSource(url), time.date)
        var cookies: [Cookie] = []
        var refusal: CookieRefusal?
        for line in values {
            do throws(CookieRefusal) {
                cookies.append(try Cookie(SetCookie(line), from: source, sites: sites, at: now))
            } catch {
                if case .aboveSites = error { refusal = refusal ?? error }
            }
        }
        guard !cookies.isEmpty else { return refusal }
        saved.change(of: owner, by: time) { (jar: inout JarState) -> Void? in
            for cookie in cookies { jar.set(cookie, of: owner?.session, isEncrypted: source.isEncrypted, at: now) }
        }
        return refusal
    }

    // MARK: What a developer should know

    /// The reason why the file cannot be used, for the first caller that asks.
    func takeFileWarning() -> String? { saved.takeProblem()?.detail }

    /// A sentence about a cookie that was refused, for the first caller that asks.
    func takeWarning(of refusal: CookieRefusal, from url: HTTPURL) -> String? {
        guard case .aboveSites(let name, let domain) = refusal, !hasReportedSite.exchange(true, ordering: .relaxed)
        else { return nil }
        let what = "the cookie \(HTTPSyntax.quoted(String(name.prefix(64)))) of \(url.origin.host) was not kept"
        let site = HTTPSyntax.quoted(domain)
        return "\(what): its domain \(domain) is none of the jar's sites; if it is yours, add it: sites: [\(site)]"
    }
}

extension CookieJar: SessionKeeper {
    @discardableResult
    func remove(session: UUID) -> Latch? {
        saved.removeAll(of: session)
    }

    var outlivesProcess: Bool { saved.hasFile }
}

extension CookieJar: OpaqueReflectable {
    /// The number of cookies, and the sites.
    public var description: String {
        let count = saved.read(\.count)
        let sites = sites.names.isEmpty ? "" : ", sites: \(sites.names.joined(separator: ", "))"
        return "CookieJar(\(count) \(count == 1 ? "cookie" : "cookies")\(sites))".printable
    }
}
