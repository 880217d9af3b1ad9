@testable import Errand
import Testing

@Suite("Content-Range") struct ContentRangeTests {
    @Test("the forms of RFC 9110, 14.4")
    func valid() {
        #expect(ContentRange("bytes 0-99/200") == .part(0..<100, of: 200))
        #expect(ContentRange("bytes 5-5/6") == .part(5..<6, of: 6))
        #expect(ContentRange("Bytes 7-9/*") == .part(7..<10, of: nil))
        #expect(ContentRange("bytes */200") == .unsatisfied(length: 200))
        #expect(ContentRange("bytes */0") == .unsatisfied(length: 0))
    }

    @Test(
        "anything else is no range",
        arguments: [
            "", "bytes", "bytes ", "0-99/200", "lines 0-9/10", "bytes 0-99", "bytes 99-0/200", "bytes 0-200/200",
            "bytes -5/10", "bytes 0-/10", "bytes */*", "bytes 0-9/10/11", "bytes 0-9-9/10", "bytes +0-9/10",
            "bytes 0-9/-1", "bytes 0-9/ 10", "bytes=0-9/10", "bytes 0-9,20-29/30", "bytes ٠-٩/10",
            "bytes 0-9223372036854775807/*", "bytes 0-9/99999999999999999999", "bytes 1.0-9/10",
        ])
    func invalid(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
