/// What has happened in a watched folder.
enum FolderChange: Sendable, Equatable {
    /// An entry of the folder has come or gone.
    case entry(String, isGone: Bool)
    /// Entries have come or gone.
    case something
    /// The folder was removed, or has another name.
    case gone

    /// Receives a change, on a thread that must not be blocked.
    typealias Report = @Sendable (FolderChange) -> Void
}

/// Notices that a file was replaced, added or removed, by whatever process.
///
/// A private file is replaced by a rename, so its folder is watched and not the file. What is written into a file in
/// place, as an editor may do, is not noticed: it could be read before it is complete. While the folder is missing, the
/// nearest folder above is watched until there is one. Nothing is noticed where the system cannot report changes: on a
/// network's file system those of other machines, and all of them when the user has used up the system's watches.
///
/// A look at the disk watches the folder that is there now, and compares the file with what it was at the last look.
/// The first look happens at the beginning, each other one when a folder has come or gone. They run on the threads for
/// the disk: what is handed to those for the same file after the beginning runs when the file is watched.
package final class FileWatch: Sendable {
    /// The folder that is watched, and the entry on the way to the file.
    private struct Place: Equatable {
        let folder: String
        let entry: String

        init(of path: String) {
            var path = path[...]
            while path.count > 1, path.last == "/" { path.removeLast() }
            let slash = path.lastIndex(of: "/")
            entry = String(slash.map { path[path.index(after: $0)...] } ?? path)
            folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        }

        /// Whether the folder is there. What cannot be looked at cannot be watched either.
        var exists: Bool { (try? FileSystem.status(of: folder, followingLinks: true))?.kind == .folder }

        /// The same, or the nearest place above whose folder exists.
        var nearest: Place {
            var place = self
            while !place.exists, place.folder != "/", place.folder != "." { place = Place(of: place.folder) }
            return place
        }
    }

    private struct State {
        var watched: (place: Place, watch: FolderWatch)?
        /// The version at the last look; the outer `nil` before the first.
        var version: FileStatus.Version??
        /// Whether a look is about to begin, which will see what happens until then.
        var isLookComing = false
        /// Whether the folder, or one above, was gone. Then the file counts as changed, whatever it is: a file that is
        /// made at once in a new folder can have the identity and the time of the old one.
        var wasGone = false
        var isOver = false
    }

    private let path: String
    private let watcher: FolderWatcher
    private let changed: @Sendable () -> Void
    private let state = Lock(State())

    /// Begins to watch a file. `changed` is called for each change, and sometimes without one, on a thread that must
    /// not be blocked.
    init(of path: String, by watcher: FolderWatcher, changed: @escaping @Sendable () -> Void) {
        self.path = path
        self.watcher = watcher
        self.changed = changed
        lookSoon()
    }

    /// Begins to watch a file, like the other initializer.
    package convenience init(of path: String, changed: @escaping @Sendable () -> Void) {
        self.init(of: path, by: .shared, changed: changed)
    }

    /// Ends the watch.
    package func end() {
        // Released outside the lock.
        let watched = state.withLock { state in
            state.isOver = true
            return state.watched.take()
        }
        withExtendedLifetime(watched) {}
    }

    private func lookSoon() {
        let isFirst = state.withLock { state in
            defer { state.isLookComing = true }
            return !state.isLookComing && !state.isOver
        }
        guard isFirst else { return }
        DiskThreads.shared.submit(at: DiskPlace(path)) { self.look() }
    }

    private func look() {
        let wasGone = state.withLock { state in
            defer { (state.isLookComing, state.wasGone) = (false, false) }
            return state.wasGone
        }
        watchNearest()
        // A file that cannot be looked at counts as gone; whoever reads it next is told why.
        let version = (try? FileSystem.status(of: path, followingLinks: false))?.version
        let isChanged = state.withLock { state in
            defer { state.version = .some(version) }
            return !state.isOver && (wasGone || state.version.map { $0 != version } ?? false)
        }
        if isChanged { changed() }
    }

    /// Watches the folder of the file, or the nearest one above.
    private func watchNearest() {
        let file = Place(of: path)
        // Folders may come and go while this looks. If they never stop, the last one that was found is watched.
        for _ in 0..<16 {
            let place = file.nearest
            if state.withLock({ $0.isOver || $0.watched?.place == place }) { return }
            let watch = try? FolderWatch(place.folder, by: watcher) { [weak self] in
                self?.note($0, in: place, isFolderOfFile: place == file)
            }
            // Released outside the lock.
            var obsolete = watch
            state.withLock { state in
                guard !state.isOver else { return }
                obsolete = state.watched?.watch
                state.watched = watch.map { (place, $0) }
            }
            withExtendedLifetime(obsolete) {}
            // The folder may have gone before it was watched; then there is another. Otherwise, without a watch, there
            // is nothing to wait for. With one, what came before it is found in the next round.
            if watch == nil, place.exists { return }
        }
    }

    private func note(_ change: FolderChange, in place: Place, isFolderOfFile: Bool) {
        switch change {
        case .entry(place.entry, _) where isFolderOfFile: changed()
        case .entry(place.entry, let isGone):
            // With everything in it, which may have come since the last look.
            if isGone { state.withLock { $0.wasGone = true } }
            lookSoon()
        case .something: lookSoon()
        case .entry: return
        case .gone:
            // The path may lead to another folder by now.
            let watched = state.withLock { state in
                state.wasGone = true
                return state.watched?.place == place ? state.watched.take() : nil
            }
            withExtendedLifetime(watched) {}
            lookSoon()
        }
    }
}
