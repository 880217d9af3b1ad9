import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension String {
    /// Returns whether the text is the time: the seconds, milliseconds or microseconds since 1970, or a date as ISO
    /// 8601 or HTTP write it, percent-encoded or not. It may be two seconds off, because clocks are read as whole
    /// seconds.
    func isReading(of clock: ClosedRange<Date>) -> Bool {
        let text = PercentEncoding.decode(self)
        // Text that is not a date is nearly always recognized by these.
        guard let first = text.utf8.first, let last = text.utf8.last, text.utf8.count <= 40 else { return false }
        let seconds = clock.lowerBound.timeIntervalSince1970 - 2...clock.upperBound.timeIntervalSince1970 + 2
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        if isDigit(first), isDigit(last), let number = Double(text) {
            return [1, 1e3, 1e6].contains { seconds.contains(number / $0) }
        }
        let date =
            isDigit(first)
            ? Date(iso8601: text, withFractions: true) : HTTPDate.parse(text, now: clock.upperBound)
        return date.map { seconds.contains($0.timeIntervalSince1970) } ?? false
    }
}
