#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Asks the system early to begin writing bytes to the disk, while others still arrive: then the sync at the end has
/// little to wait for.
enum WriteBack {
    #if os(Linux)
    /// Large enough for the disk, small enough not to be felt.
    private static let step = 8 << 20
    private typealias Function = @convention(c) (CInt, off_t, off_t, CUnsignedInt) -> CInt

    /// `sync_file_range`, which is not visible to Swift.
    private static let function = dlsym(nil, "sync_file_range").map { unsafeBitCast($0, to: Function.self) }
    /// `SYNC_FILE_RANGE_WRITE`: without waiting for what is being written already.
    private static let flags: CUnsignedInt = 2

    static func begin(_ descriptor: CInt, from offset: Int, count: Int) {
        let (start, end) = (offset / step * step, (offset + count) / step * step)
        guard end > start else { return }
        // Whatever prevents it, the sync at the end reports it.
        _ = function?(descriptor, off_t(start), off_t(end - start), flags)
    }
    #else
    static func begin(_ descriptor: CInt, from offset: Int, count: Int) {}
    #endif
}
