/// Draws when requests were sent: one column for each tenth of a second, so that bursts and pauses are visible.
struct Timeline {
    let moments: [Duration]

    /// One line for each second, with a mark for each request.
    var lines: [String] {
        guard let last = moments.max() else { return [] }
        return (0...Int(last.components.seconds)).map { second in
            let tenths = (0..<10).map { tenth in
                let from = Duration.milliseconds(second * 1000 + tenth * 100)
                let count = moments.count { $0 >= from && $0 < from + .milliseconds(100) }
                return String(repeating: "●", count: count).padded(to: 6)
            }
            let count = moments.count { $0.components.seconds == Int64(second) }
            return "second \(second + 1)  │\(tenths.joined(separator: "│"))│  \(count) sent"
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
