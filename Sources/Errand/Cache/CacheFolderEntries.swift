#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How the responses in the folder of a cache are read and written.
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
                // A removal would not find it. If it stays, it is not found all the same.
                try? lose(name)
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
        return try entry(name, secret, hasBody: false) { $0.identity == response } != nil
    }

    /// What has become of a response that was to be stored.
    enum Outcome {
        /// It is stored, and the folder has grown by that.
        case stored(Extent)
        case overtaken
        /// With the tags of what it would replace, which is removed, it has too many.
        case tooManyNames
    }

    /// Stores a response, unless `isOvertaken` in the moment in which it would become visible.
    func write(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: () -> Bool
    ) throws(SystemError) -> Outcome {
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
    ) throws(SystemError) -> Outcome {
        let secret = try makeKey()
        let place = CachePlace(of: key, by: secret)
        let name = place.name(of: response.variant, by: secret)
        var fields = CacheEntryFile.Fields(of: response, secret, clock: clock)
        if let old = try present(name, secret) {
            // Whoever has called it by a tag need not be the one who calls now.
            fields.tags = Set(fields.tags).union(old.tags).sorted()
            guard fields.names <= StoredResponse.mostNames else {
                try lose(name)
                return .tooManyNames
            }
        }
        if isOvertaken() { return .overtaken }
        let grown = try replace(name, at: place, with: fields, response.body, secret, unless: isOvertaken)
        return grown.map(Outcome.stored) ?? .overtaken
    }

    /// Returns the fields of a file that is to be replaced. One that could not be found is removed: it would be found
    /// again with the marks of its successor.
    private func present(_ name: String, _ secret: CacheFolderKey) throws(SystemError) -> CacheEntryFile.Fields? {
        do throws(SystemError) {
            guard let (fields, _) = try entry(name, secret, hasBody: false, where: { _ in true }) else { return nil }
            if try isMarked(name, fields, secret) { return fields }
        } catch {
            // Nobody can read it, so nobody is to find it either.
        }
        try lose(name)
        return nil
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
        try entry(name, secret, hasBody: false) { $0.identity == fields.identity && $0.tags == fields.tags } != nil
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
