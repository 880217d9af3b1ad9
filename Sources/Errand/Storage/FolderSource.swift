#if canImport(Darwin)
import Darwin
import Dispatch

/// Reports changes of folders, with Dispatch, which has a thread for that while it is needed.
final class FolderWatcher: Sendable {
    static let shared = FolderWatcher()

    fileprivate let queue = DispatchQueue(label: "errand.folders")
}

/// A watch of a folder, which lasts until it is released.
///
/// `@unchecked Sendable`: a source of Dispatch may be used by any thread, but not every SDK says so.
final class FolderWatch: @unchecked Sendable {
    private let source: any DispatchSourceFileSystemObject

    /// Begins to watch a folder. May block.
    init(_ folder: String, by watcher: FolderWatcher = .shared, _ changed: @escaping FolderChange.Report)
        throws(SystemError)
    {
        let descriptor = open(folder, O_EVTONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(errno) }
        source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: [.write, .delete, .rename, .revoke], queue: watcher.queue)
        // Which entry has changed, or whether the folder is gone, is found out by a look at the disk.
        source.setEventHandler { changed(.gone) }
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
    }

    deinit {
        source.cancel()
    }
}
#elseif !os(Linux)
/// Changes of folders are not reported on this platform.
final class FolderWatcher: Sendable {
    static let shared = FolderWatcher()
}

/// A watch of a folder, which cannot be had.
final class FolderWatch: Sendable {
    init(_ folder: String, by watcher: FolderWatcher = .shared, _ changed: FolderChange.Report) throws(SystemError) {
        throw .noFunction
    }
}
#endif
