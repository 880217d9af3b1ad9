#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How responses are removed from the folder of a cache.
extension CacheFolder {
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
