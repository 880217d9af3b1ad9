#if os(Linux)
/// The options of libcurl that are set here: facts of its ABI.
enum CurlOption {
    static let url: CInt = 10002
    static let proxy: CInt = 10004
    static let certificate: CInt = 10025
    static let customRequest: CInt = 10036
    static let noBody: CInt = 44
    static let post: CInt = 47
    static let caFile: CInt = 10065
    static let freshConnection: CInt = 74
    static let httpGet: CInt = 80
    static let httpVersion: CInt = 84
    static let readSize: CInt = 98
    static let privateKey: CInt = 10087
    static let noSignal: CInt = 99
    static let acceptEncoding: CInt = 10102
    static let bodySize: CInt = 30120
    static let protocols: CInt = 181
    static let hostsWithoutProxy: CInt = 10177
    static let pinnedKey: CInt = 10230
    static let pathAsIs: CInt = 234
    static let waitForMultiplexing: CInt = 237
    static let hidesProxyHeads: CInt = 265
    static let allowsHTTP09: CInt = 285
    static let quickExit: CInt = 322
}

/// What can be asked of a transfer that has ended.
enum CurlInfo {
    static let requestSize: CInt = 0x20_000C
    static let systemError: CInt = 0x20_0019
}

/// The options of a multi handle.
enum CurlMultiOption {
    static let pipelining: CInt = 3
    static let keptConnections: CInt = 6
}
#endif
