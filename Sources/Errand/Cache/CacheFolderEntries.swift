#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is done with the responses in the folder of a cache.
extension CacheFolder {
    /// What is at a place.
    enum Finding {
        /// A response that matches, and the name of its file.
        case found(StoredResponse, name: String)
        /// None that matches.
        case others
        case nothing
    }

    /// Looks for a response at that place that matches.
    func read(_ key: CacheKey, matching isMatch: (CacheVariant) -> Bool) throws(SystemError) -> Finding {
        guard let secret = try self.key() else { return .nothing }
        let place = CachePlace(of: key, by: secret)
        func response(_ name: String) throws(SystemError) -> StoredResponse? {
            let found = try entry(name, secret, hasBody: true) { isMatch($0.variant) }
            guard let (fields, body) = found else { return nil }
            guard try isMarked(name, fields, secret) else {
                // A removal would not find it.
                lose(name)
                return nil
            }
            // Of a URL that is found by a name, only the origin is kept.
            let url =
                switch key.resource {
                case .url(let url): url
                case .named: HTTPURL(origin: fields.origin, path: "/", query: nil)
                }
            return fields.response(to: url, body: body, ownClock: clock)
        }
        if let found = try response(place.plain) { return .found(found, name: place.plain) }
        // The newest, if several match (RFC 9111, 4.1).
        var newest: (response: StoredResponse, name: String)?
        let names = try names(in: place.folder)
        for name in names.sorted() {
            let name = "\(place.folder)/\(name)"
            guard let found = try response(name) else { continue }
            if let newest, newest.response.freshness.isNewer(than: found.freshness) { continue }
            newest = (found, name)
        }
        if let newest { return .found(newest.response, name: newest.name) }
        if !names.isEmpty { return .others }
        return try length(of: place.plain) == nil ? .nothing : .others
    }

    /// Whether that very response is at that place.
    func has(_ response: StoredResponse.Identity, at key: CacheKey) throws(SystemError) -> Bool {
        guard let secret = try self.key() else { return false }
        let name = CachePlace(of: key, by: secret).name(of: response.variant, by: secret)
        return try entry(name, secret, hasBody: false) { $0.isSame(as: response) } != nil
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
        var fields = CacheEntryFile.Fields(of: response, secret, clock: clock)
        var change = Extent()
        if let (old, _) = try entry(name, secret, hasBody: false, where: { _ in true }) {
            if try isMarked(name, old, secret) {
                // Whoever has called it by a tag need not be the one who calls now.
                fields.tags = Set(fields.tags).union(old.tags).sorted()
                // More than can be looked at with each change: then the tags of this one have to do, and what others
                // have tagged is gone.
                if fields.names > StoredResponse.mostNames { fields.tags = response.tags.sorted() }
            } else {
                // It cannot be found, and would be again with the marks of this one.
                change += try remove(name)
            }
        }
        if isOvertaken() { return nil }
        let more = try replace(name, at: place, with: fields, response.body, secret, unless: isOvertaken)
        guard let more else { return nil }
        change += more
        return change
    }

    /// Gives a response further tags, if it is there. Returns by how much the folder has grown; `nil` if it would have
    /// too many.
    func add(
        _ tags: Set<String>, to variant: CacheVariant, at key: CacheKey
    ) throws(SystemError) -> Extent? {
        guard let secret = try self.key() else { return Extent() }
        let place = CachePlace(of: key, by: secret)
        let name = place.name(of: variant, by: secret)
        let found = try entry(name, secret, hasBody: true) { _ in true }
        guard case (let present, let body)? = found, try isMarked(name, present, secret) else { return Extent() }
        var fields = present
        fields.tags = tags.union(present.tags).sorted()
        guard fields.names <= StoredResponse.mostNames else { return nil }
        // Another process may have removed or replaced it.
        return try replace(name, at: place, with: fields, body, secret, only: present) { false } ?? Extent()
    }

    /// Writes a file in place of the one with that name, unless `isOvertaken`.
    private func replace(
        _ name: String, at place: CachePlace, with fields: CacheEntryFile.Fields, _ body: Data,
        _ secret: CacheFolderKey, only present: CacheEntryFile.Fields? = nil, unless isOvertaken: () -> Bool
    ) throws(SystemError) -> Extent? {
        let head = Data(CacheEntryFile.head(of: fields, body: body, seed: secret.seed(of: name)))
        let draft = newName("new")
        try write([head, body], to: draft)
        do throws(SystemError) {
            try FileSystem.ensureFolder(path(of: place.area))
            if place.parent != place.area { try FileSystem.ensureFolder(path(of: place.parent)) }
            if name != place.plain { try FileSystem.ensureFolder(path(of: place.folder)) }
            try mark(name, fields, secret)
            let before = try length(of: name)
            let isCurrent = if let present { try has(present, at: name, secret) } else { true }
            guard isCurrent, !isOvertaken() else {
                try FileSystem.remove(path(of: draft))
                return nil
            }
            var change = Extent()
            // The resource depends on more now; what did not would be found first.
            if name != place.plain, present == nil { change += try remove(place.plain) }
            try FileSystem.move(path(of: draft), to: path(of: name))
            let length = head.count + body.count
            note(name, length: length)
            change += Extent(responses: before == nil ? 1 : 0, bytes: length - (before ?? 0))
            // If that fails, the next variant tries again.
            if name != place.plain, before == nil, let more = try? removeOldVariants(at: place) { change += more }
            return change
        } catch {
            // A draft that stays is removed by a later count.
            try? FileSystem.remove(path(of: draft))
            throw error
        }
    }

    /// Whether a file is still the one that was read.
    private func has(
        _ fields: CacheEntryFile.Fields, at name: String, _ secret: CacheFolderKey
    ) throws(SystemError) -> Bool {
        try entry(name, secret, hasBody: false) { $0.isSame(as: fields) } != nil
    }

    private func removeOldVariants(at place: CachePlace) throws(SystemError) -> Extent {
        var change = Extent()
        let names = try names(in: place.folder).map { "\(place.folder)/\($0)" }
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
        if let response, try !has(response, at: key) { return Extent() }
        return try remove(CachePlace(of: key, by: secret).name(of: variant, by: secret))
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

    /// Removes everything that one of them covers.
    func remove(_ removals: [CacheRemoval]) throws(SystemError) -> Extent {
        let areas = try names(in: "").filter(CachePlace.isArea)
        var change = Extent()
        if removals.contains(.everything) {
            for area in areas { change += try removeFolder(area) }
            _ = try removeFolder(Mark.folder)
            return change
        }
        guard let secret = try self.key() else { return change }
        var paths: Set<UInt64> = []
        for removal in removals {
            switch removal {
            case .session(let session):
                for isNamed in [false, true] {
                    let area = CachePlace.area(of: session, isNamed: isNamed, by: secret)
                    if areas.contains(area) { change += try removeFolder(area) }
                }
            case .resource(let resource): change += try remove(resource, in: areas, secret)
            case .own(let url, let session):
                let area = CachePlace.area(of: session, isNamed: false, by: secret)
                if areas.contains(area) { change += try remove(.url(url), in: [area], secret) }
                change += try removeMarked(
                    [secret.number(of: url)], in: CachePlace.area(of: session, isNamed: true, by: secret))
            case .below(let origin, let path): paths.insert(secret.number(ofPath: path, at: origin))
            case .everything, .tag, .group: break
            }
        }
        if !paths.isEmpty { change += try removeFiles(in: areas, secret) { !paths.isDisjoint(with: $0.paths) } }
        change += try removeMarked(Set(removals.compactMap { $0.number(by: secret) }))
        return change
    }

    private func remove(
        _ resource: CacheKey.Resource, in areas: [String], _ secret: CacheFolderKey
    ) throws(SystemError) -> Extent {
        let base = CachePlace.base(of: resource, by: secret)
        var change = Extent()
        for area in areas where CachePlace.isNamed(area) == resource.isNamed {
            let plain = "\(area)/\(base)"
            change += try remove(plain)
            for folder in CachePlace.folders(beside: plain) { change += try removeFolder(folder) }
        }
        return change
    }

    /// Looks into all files. Only a person or a program asks for that, and no response.
    private func removeFiles(
        in areas: [String], _ secret: CacheFolderKey, where covers: (CacheEntryFile.Fields) -> Bool
    ) throws(SystemError) -> Extent {
        var change = Extent()
        var folders = areas
        while let folder = folders.popLast() {
            for name in try names(in: folder).map({ "\(folder)/\($0)" }) {
                if CachePlace.isFolder(name) {
                    folders.append(name)
                } else if try entry(name, secret, hasBody: false, where: covers) != nil {
                    change += try remove(name)
                }
            }
        }
        return change
    }

    /// Returns what is in up to `count` files of a walk; none when it is over. What cannot be read is left out.
    func entries(_ walk: inout CacheFolderWalk, upTo count: Int) throws(SystemError) -> [HTTPCache.Entry] {
        guard let secret = try key() else { return [] }
        var entries: [HTTPCache.Entry] = []
        while entries.count < count, let name = walk.next(in: self) {
            guard let length = try? length(of: name),
                let found = try? entry(name, secret, hasBody: false, where: { _ in true })
            else { continue }
            entries.append(HTTPCache.Entry(found.fields, bytes: length))
        }
        return entries
    }

    /// Removes a folder with all that is in it. It is renamed first, so that nothing in it is found any more.
    private func removeFolder(_ folder: String) throws(SystemError) -> Extent {
        let old = newName("old")
        do throws(SystemError) {
            try FileSystem.move(path(of: folder), to: path(of: old))
        } catch {
            // What is in a file that stands where the folder should be is not found.
            guard error == .noSuchFile || error == .notAFolder else { throw error }
            return Extent()
        }
        // What a link leads to is not ours, or is in use.
        guard (try? FileSystem.status(of: path(of: old), followingLinks: false))?.kind == .folder else {
            try? FileSystem.remove(path(of: old))
            return Extent()
        }
        // If this fails half-way, the next count removes the rest.
        return (try? empty(old, once: folder)) ?? Extent()
    }

    /// Removes a file, or a folder that nobody uses any more, with all that is in it. Since the last count, it may have
    /// had another name.
    @discardableResult
    func empty(_ old: String, once name: String? = nil) throws(SystemError) -> Extent {
        let status = try FileSystem.status(of: path(of: old), followingLinks: false)
        guard status.kind == .folder else {
            try FileSystem.remove(path(of: old))
            if let name { note(name, length: nil) }
            return status.kind == .file ? Extent(responses: -1, bytes: -status.length) : Extent()
        }
        var change = Extent()
        for entry in try names(in: old) {
            change += try empty("\(old)/\(entry)", once: name.map { "\($0)/\(entry)" })
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
    static func ensureFolder(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try makeFolder(path)
        } catch {
            guard error == .fileExists else { throw error }
        }
    }
}
