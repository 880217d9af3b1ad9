/// The bytes to and from a server, on one thread.
protocol RedisStream {
    /// The descriptor to wait for.
    var descriptor: CInt { get }
    /// Whether bytes that were taken are still to be written.
    var hasUnwritten: Bool { get }
    /// Reads what is there, and appends it, up to a limit.
    func read(into bytes: inout [UInt8], upTo limit: Int) -> RedisProgress
    /// Writes bytes, or keeps them to write them with the next call.
    func write(_ bytes: ArraySlice<UInt8>) -> RedisProgress
}

/// What a read or a write has done.
enum RedisProgress: Equatable {
    case bytes(Int)
    /// Nothing can be done now.
    case blocked
    /// The connection has ended; the system's words, if it has any.
    case ended(String?)
}
