#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is done with the responses in the folder of a cache.
extension CacheFolder {
    /// Returns the response at that place that matches, and the name of its file.
    func read(
        _ key: CacheKey, matching isMatch: (CacheVariant) -> Bool
    ) throws(SystemError) -> (response: StoredResponse, name: String)? {
        guard let secret = try self.key() else { return nil }
        let place = CachePlace(of: key, by: secret)
        func response(_ name: String) throws(SystemError) -> (StoredResponse, String)? {
            let found = try entry(name, secret, hasBody: true) { isMatch($0.variant) }
            guard let (fields, body) = found else { return nil }
            // Of a URL that is found by a name, only the origin is kept.
            let url =
                switch key.resource {
                case .url(let url): url
                case .named: HTTPURL(origin: fields.origin, path: "/", query: nil)
                }
            return (fields.response(to: url, body: body, ownClock: clock), name)
        }
        if place.isPlain, let found = try response(place.plain) { return found }
        // The newest, if several match (RFC 9111, 4.1).
        var newest: (response: StoredResponse, name: String)?
        for name in try names(in: place.folder).sorted() where place.isForSameCredentials(name) {
            guard let found = try response("\(place.folder)/\(name)") else { continue }
            if let newest, newest.response.freshness.isNewer(than: found.0.freshness) { continue }
            newest = found
        }
        return newest
    }

    /// Stores a response, unless `isOvertaken` in the moment in which it would become visible. Returns by how much the
    /// folder has grown; `nil` if the response was overtaken.
    func write(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: () -> Bool
    ) throws(SystemError) -> Extent? {
        do throws(SystemError) {
            return try attemptWrite(response, at: key, unless: isOvertaken)
        } catch {
            guard error == .noSuchFile else { throw error }
            // Somebody has removed the folder, or a part of it, in this moment.
            checkKey()
            return try attemptWrite(response, at: key, unless: isOvertaken)
        }
    }

    private func attemptWrite(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: () -> Bool
    ) throws(SystemError) -> Extent? {
        let secret = try makeKey()
        let place = CachePlace(of: key, by: secret)
        let name = place.name(of: response.variant, by: secret)
        let fields = CacheEntryFile.Fields(of: response, url: secret.number(of: response.url), clock: clock)
        let head = Data(CacheEntryFile.head(of: fields, body: response.body, seed: secret.seed(of: name)))
        let draft = newName("new")
        try write([head, response.body], to: draft)
        do throws(SystemError) {
            try FileSystem.ensureFolder(path(of: place.area))
            if name != place.plain { try FileSystem.ensureFolder(path(of: place.folder)) }
            let before = try length(of: name)
            guard !isOvertaken() else {
                try FileSystem.remove(path(of: draft))
                return nil
            }
            var change = Extent()
            // The resource depends on more now; what did not would be found first.
            if name != place.plain, place.isPlain { change += try remove(place.plain) }
            try FileSystem.move(path(of: draft), to: path(of: name))
            change += Extent(
                responses: before == nil ? 1 : 0, bytes: head.count + response.body.count - (before ?? 0))
            // If that fails, the next variant tries again.
            if name != place.plain, before == nil, let more = try? removeOldVariants(at: place) { change += more }
            return change
        } catch {
            // A draft that stays is removed by a later count.
            try? FileSystem.remove(path(of: draft))
            throw error
        }
    }

    private func removeOldVariants(at place: CachePlace) throws(SystemError) -> Extent {
        var change = Extent()
        let names = try names(in: place.folder).filter(place.isForSameCredentials).map { "\(place.folder)/\($0)" }
        guard names.count > Self.variants else { return change }
        // One that has gone since is the oldest.
        let oldest = names.map { name in
            (name, (try? FileSystem.status(of: path(of: name), followingLinks: false))?.modified.total ?? 0)
        }.sorted { $0.1 < $1.1 }
        for (name, _) in oldest.prefix(names.count - Self.variants) {
            change += try remove(name)
        }
        return change
    }

    /// Removes what is at that place of that variant; with a response only that one.
    func remove(
        _ variant: CacheVariant, at key: CacheKey, only response: StoredResponse.Identity?
    ) throws(SystemError) -> Extent {
        guard let secret = try self.key() else { return Extent() }
        let name = CachePlace(of: key, by: secret).name(of: variant, by: secret)
        if let response, try entry(name, secret, hasBody: false, where: { $0.isSame(as: response) }) == nil {
            return Extent()
        }
        return try remove(name)
    }

    /// Carries out removals. If that fails, some of them may have been, and the folder is smaller than its count says.
    func remove(_ pending: [PendingRemoval]) throws(SystemError) -> Extent {
        var change = Extent()
        var removals: [CacheRemoval] = []
        for pending in pending {
            switch pending {
            case .removal(let removal): removals.append(removal)
            case .variant(let variant, let key, let only): change += try remove(variant, at: key, only: only)
            }
        }
        if !removals.isEmpty { change += try remove(removals) }
        return change
    }

    /// Removes everything that one of them covers, in one pass.
    func remove(_ removals: [CacheRemoval]) throws(SystemError) -> Extent {
        let areas = try names(in: "").filter(CachePlace.isArea)
        var change = Extent()
        if removals.contains(.everything) {
            for area in areas { change += try removeFolder(area) }
            return change
        }
        guard let secret = try self.key() else { return change }
        // What is looked for in all files, and in those of responses with a name.
        var (everywhere, urls) = (Set<CacheRemoval>(), Set<UInt64>())
        for removal in removals {
            switch removal {
            case .everything: break
            case .session(let session):
                for isNamed in [false, true] {
                    let area = CachePlace.area(of: session, isNamed: isNamed, by: secret)
                    if areas.contains(area) { change += try removeFolder(area) }
                }
            case .resource(let resource):
                change += try remove(resource, in: areas, secret)
                // What is stored under a name has a URL too.
                if case .url(let url) = resource { urls.insert(secret.number(of: url)) }
            case .tag, .group: everywhere.insert(removal)
            }
        }
        for area in areas where !everywhere.isEmpty || !urls.isEmpty && area.hasPrefix("n") {
            change += try removeEntries(in: area, secret) { $0.isCovered(by: everywhere, urls: urls) }
        }
        return change
    }

    private func remove(
        _ resource: CacheKey.Resource, in areas: [String], _ secret: CacheFolderKey
    ) throws(SystemError) -> Extent {
        let (base, isNamed) = (CachePlace.base(of: resource, by: secret), resource.isNamed)
        var change = Extent()
        for area in areas where area.hasPrefix("n") == isNamed {
            change += try remove("\(area)/\(base)")
            let folder = CachePlace.folder(beside: "\(area)/\(base)")
            for name in try names(in: folder) { change += try remove("\(folder)/\(name)") }
            // It stays if another process has just put something there.
            try? FileSystem.removeFolder(path(of: folder))
        }
        return change
    }

    private func removeEntries(
        in area: String, _ secret: CacheFolderKey, where covers: (CacheEntryFile.Fields) -> Bool
    ) throws(SystemError) -> Extent {
        var change = Extent()
        for name in try files(in: area) where try entry(name, secret, hasBody: false, where: covers) != nil {
            change += try remove(name)
        }
        return change
    }

    /// Returns the names of all files in the folder of a session.
    func files(in area: String) throws(SystemError) -> [String] {
        var files: [String] = []
        for name in try names(in: area) {
            if name.hasSuffix(".d") {
                for below in try names(in: "\(area)/\(name)") { files.append("\(area)/\(name)/\(below)") }
            } else {
                files.append("\(area)/\(name)")
            }
        }
        return files
    }

    /// Removes a folder with all that is in it. It is renamed first, so that nothing in it is found any more.
    private func removeFolder(_ area: String) throws(SystemError) -> Extent {
        let old = newName("old")
        do throws(SystemError) {
            try FileSystem.move(path(of: area), to: path(of: old))
        } catch {
            guard error == .noSuchFile else { throw error }
            return Extent()
        }
        // If this fails half-way, the next count removes the rest.
        return (try? empty(old)) ?? Extent()
    }

    /// Removes a folder that nobody uses any more.
    func empty(_ old: String) throws(SystemError) -> Extent {
        var change = Extent()
        // What a link leads to is not ours, or is in use.
        guard try FileSystem.status(of: path(of: old), followingLinks: false).kind == .folder else {
            try FileSystem.remove(path(of: old))
            return change
        }
        for name in try files(in: old) {
            change += try remove(name)
        }
        for name in try names(in: old) where name.hasSuffix(".d") {
            // If that fails, so does the removal of what it is in.
            try? FileSystem.removeFolder(path(of: "\(old)/\(name)"))
        }
        try FileSystem.removeFolder(path(of: old))
        return change
    }
}

extension FileStatus.Moment {
    /// The nanoseconds since 1970.
    var total: Int64 { seconds &* 1_000_000_000 &+ nanoseconds }
}

extension FileSystem {
    /// Creates a folder for its owner alone, unless it is there.
    fileprivate static func ensureFolder(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try makeFolder(path)
        } catch {
            guard error == .fileExists else { throw error }
        }
    }
}
