import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

/// The same rules as ``JarState``, written down as simply as possible: one list, searched as a whole.
private struct PlainJar {
    struct Entry {
        var cookie: Cookie
        var owner: UUID?
        var created: Int
        var set: Int
    }

    let limits: JarState.Limits
    var entries: [Entry] = []
    var number = 0

    func isSecureAlone(_ cookie: Cookie) -> Bool {
        !entries.contains { entry in
            let (one, other) = (entry.cookie.domain, cookie.domain)
            return entry.cookie.isSecure && entry.cookie.sentName == cookie.sentName
                && (one == other || one.hasSuffix("." + other) || other.hasSuffix("." + one))
                && CookiePath.reaches(cookie.path, from: entry.cookie.path)
        }
    }

    mutating func set(_ cookie: Cookie, of owner: UUID?, isEncrypted: Bool, at now: Date) {
        guard isEncrypted || !cookie.isSecure && isSecureAlone(cookie) else { return }
        entries.removeAll { $0.cookie.domain == cookie.domain && $0.owner == owner && $0.cookie.hasExpired(at: now) }
        let earlier = entries.first { $0.owner == owner && $0.cookie.replaces(cookie) }
        entries.removeAll { $0.owner == owner && $0.cookie.replaces(cookie) }
        guard !cookie.hasExpired(at: now) else {
            return entries.removeAll { $0.owner == nil && $0.cookie.replaces(cookie) }
        }
        let beside = entries.filter { $0.cookie.domain == cookie.domain && $0.owner == owner }
        if !isEncrypted, beside.count >= limits.perDomain, beside.allSatisfy(\.cookie.isSecure) { return }
        number += 1
        entries.append(Entry(cookie: cookie, owner: owner, created: earlier?.created ?? number, set: number))
        while entries.filter({ $0.cookie.domain == cookie.domain && $0.owner == owner }).count > limits.perDomain {
            let place = entries.filter { $0.cookie.domain == cookie.domain && $0.owner == owner }
            let candidates = isEncrypted ? place : place.filter { !$0.cookie.isSecure }
            guard let oldest = candidates.map(\.set).min() else { break }
            entries.removeAll { $0.set == oldest }
        }
    }

    mutating func header(_ url: HTTPURL, of owner: UUID?, at now: Date) -> String? {
        let source = CookieSource(url)
        var found: [Entry] = []
        for entry in entries where entry.owner == owner || entry.owner == nil {
            let cookie = entry.cookie
            let isHost = cookie.domain == source.host.name
            guard isHost || !cookie.isHostOnly && source.host.name.hasSuffix("." + cookie.domain),
                source.isEncrypted || !cookie.isSecure, !cookie.hasExpired(at: now),
                CookiePath.reaches(source.path, from: cookie.path)
            else { continue }
            let isHidden =
                entry.owner != owner
                && entries.contains { other in
                    other.owner == owner && other.cookie.replaces(cookie) && !other.cookie.hasExpired(at: now)
                }
            if !isHidden { found.append(entry) }
        }
        found.sort { left, right in
            let (first, second) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return first == second ? left.created < right.created : first > second
        }
        for entry in found where entry.owner != owner {
            number += 1
            entries.removeAll { $0.set == entry.set || $0.owner == owner && $0.cookie.replaces(entry.cookie) }
            entries.append(Entry(cookie: entry.cookie, owner: owner, created: entry.created, set: number))
        }
        return found.isEmpty ? nil : found.map(\.cookie.pair).joined(separator: "; ")
    }
}

@Suite("A jar, compared with a plain list") struct JarWalkTests {
    @Test("J1–J5: whatever servers set and clients send, both have the same cookies", arguments: UInt64(1)...8)
    func walk(seed: UInt64) throws {
        var random = SeededRandom(seed)
        // No list is longer than its limit when a session takes cookies over, so that both lists evict alike.
        let limits = JarState.Limits(perDomain: 40)
        var scene = JarScene(limits, sites: ["example.com", "b.org"])
        var plain = PlainJar(limits: limits)
        let owners = [nil, nil, UUID(), UUID()]
        let hosts = ["example.com", "api.example.com", "v1.api.example.com", "b.org", "www.b.org", "127.0.0.1"]
        let paths = ["/", "/a", "/a/b", "/ab"]
        for step in 0..<(LongRun.isWanted ? 12_500 : 800) {
            let scheme = random.chance(80) ? "https" : "http"
            let (host, path) = (hosts[random.int(0...5)], paths[random.int(0...3)])
            let url = try HTTPURL("\(scheme)://\(host)\(path)")
            let owner = owners[random.int(0...3)]
            switch random.int(0...9) {
            case 0..<6:
                var line = "\(["a", "b", "c", "d", ""][random.int(0...4)])=\(step)"
                if random.chance(50) { line += "; Domain=\(hosts[random.int(0...5)])" }
                if random.chance(50) { line += "; Path=\(paths[random.int(0...3)])" }
                if random.chance(30) { line += "; Secure" }
                if random.chance(40) { line += "; Max-Age=\(random.int(-1...50))" }
                let (source, isEncrypted) = (CookieSource(url), scheme == "https")
                guard let cookie = try? Cookie(SetCookie(line), from: source, sites: scene.sites, at: scene.now)
                else { continue }
                scene.jar.set(cookie, of: owner, isEncrypted: isEncrypted, at: scene.now)
                plain.set(cookie, of: owner, isEncrypted: isEncrypted, at: scene.now)
            case 6..<9:
                let header = scene.jar.header(for: CookieSource(url), of: owner, at: scene.now)
                try #require(header == plain.header(url, of: owner, at: scene.now), "step \(step), \(url)")
            default:
                scene.now += Double(random.int(0...20))
                if random.chance(5), let owner {
                    scene.jar.removeAll(of: owner)
                    plain.entries.removeAll { $0.owner == owner }
                }
            }
            let live = { (cookie: Cookie) in !cookie.hasExpired(at: scene.now) }
            if step.isMultiple(of: 50) {
                let left = scene.jar.entries.map(\.cookie).filter(live)
                try #require(left == plain.entries.sorted { $0.created < $1.created }.map(\.cookie).filter(live))
                #expect(scene.jar.bytes == scene.jar.entries.reduce(0) { $0 + $1.cookie.size })
                #expect(scene.jar.count == scene.jar.entries.count)
            }
        }
        #expect(scene.jar.count > 5)
    }

    @Test("J4: whatever comes, no limit is passed", arguments: UInt64(1)...4)
    func limits(seed: UInt64) throws {
        var random = SeededRandom(seed)
        let limits = JarState.Limits(perDomain: 5, total: 12, bytes: 400, header: 60)
        var scene = JarScene(limits)
        let owners = [nil, UUID(), UUID()]
        for step in 0..<(LongRun.isWanted ? 20_000 : 1000) {
            let url = "\(random.chance(50) ? "https" : "http")://h\(random.int(0...5)).example.com/"
            let owner = owners[random.int(0...2)]
            if random.chance(70) {
                let value = String(repeating: "v", count: random.int(0...50))
                let domain = random.chance(30) ? "; Domain=example.com" : ""
                let age = random.chance(30) ? "; Max-Age=\(random.int(0...9))" : ""
                try scene.set("c\(random.int(0...9))=\(value)\(domain)\(age)", from: url, of: owner)
            } else if let header = try scene.header(url, of: owner) {
                try #require(header.utf8.count <= 52, "step \(step)")
            }
            scene.now += 0.3
            let places = Dictionary(grouping: scene.jar.entries) { "\($0.cookie.domain) \($0.owner?.uuidString ?? "")" }
            try #require(places.values.allSatisfy { $0.count <= 5 }, "step \(step)")
            try #require(scene.jar.count <= 12 && scene.jar.bytes <= 400, "step \(step)")
        }
    }
}
