import Foundation

@testable import Errand

/// A jar's state with a clock that stands still, and words for what servers and clients do with it.
struct JarScene {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    var jar: JarState
    let sites: CookieSites
    var now = Self.start

    init(_ limits: JarState.Limits = JarState.Limits(), sites: [String] = ["example.com"]) {
        jar = JarState(limits)
        self.sites = CookieSites(sites)
    }

    /// Has a server set cookies with these lines. Returns whether all of them were taken.
    @discardableResult
    mutating func set(
        _ lines: String..., from url: String = "https://api.example.com/", of owner: UUID? = nil
    ) throws -> Bool {
        let source = CookieSource(try HTTPURL(url))
        var isTaken = true
        for line in lines {
            guard let cookie = try? Cookie(SetCookie(line), from: source, sites: sites, at: now),
                jar.set(cookie, of: owner, isEncrypted: source.isEncrypted, at: now)
            else {
                isTaken = false
                continue
            }
        }
        return isTaken
    }

    /// Returns the `Cookie` header of a request.
    mutating func header(_ url: String = "https://api.example.com/", of owner: UUID? = nil) throws -> String? {
        jar.header(for: CookieSource(try HTTPURL(url)), of: owner, at: now)
    }
}
