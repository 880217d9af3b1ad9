#if URLSession || canImport(Darwin)
/// The cases of the conformance catalogue that Foundation's `URLSession` does not let a transport keep, on Linux with
/// Swift 6.3.1. What happens was seen, not read.
enum URLSessionExclusions {
    #if canImport(FoundationNetworking)
    static let table: [(case: String, reason: String)] = [
        ("C32", "a connection that is closed within the head ends the process (NativeProtocol.swift: no response)"),
        ("C36", "chunks that are followed by a trailer end the process in the same way"),
        ("C38", "a folded line, and a value in Latin-1, are errors (.malformed); names that repeat become one field"),
        ("C40", "an endless body on a fast line is read on, for up to a minute, before the cancellation gets its turn"),
        ("C51", "a redirect without a Location has no head (.malformed)"),
    ]
    #else
    static let table: [(case: String, reason: String)] = []
    #endif
}
#endif
