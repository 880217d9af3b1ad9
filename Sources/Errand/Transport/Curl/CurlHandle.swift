#if os(Linux)
/// The C side of one exchange, which serves the next one afterwards.
///
/// It is safe to send because it is handed over through the lock of the loop or of the promise.
struct CurlHandle: @unchecked Sendable {
    let transfer: OpaquePointer
}
#endif
