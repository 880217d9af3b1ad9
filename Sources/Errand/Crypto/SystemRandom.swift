/// Secret values from the system's source of random numbers.
///
/// They do not come from a `TimeSource`: a program may replace that, with one whose numbers can be guessed.
package enum SystemRandom {
    /// The source that replaces the system's in a test.
    @TaskLocal package static var scripted: (@Sendable () -> UInt64)?

    /// Returns a new value of 256 bits as text: 43 characters that a URL may contain.
    package static func text() -> String {
        var system = SystemRandomNumberGenerator()
        let words = (0..<4).map { _ in scripted?() ?? system.next() }
        return Base64URL.encode(words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    }
}
