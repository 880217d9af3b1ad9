/// Writes names of hosts in ASCII (RFC 3492).
enum Punycode {
    /// The longest label of a name.
    private static let longestLabel = 63

    /// Returns the name with each label in ASCII; one that is too long stays as it is, and is no host.
    static func host(_ name: String) -> String {
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        let labels = name.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        return labels.map { label in
            if label.allSatisfy(\.isASCII) || label.count > longestLabel { return String(label) }
            return "xn--" + encode(Array(label))
        }.joined(separator: ".")
    }

    private static func encode(_ scalars: [Unicode.Scalar]) -> String {
        var output = scalars.filter(\.isASCII).map { Character($0) }
        let basicCount = output.count
        if basicCount > 0 { output.append("-") }
        var (bound, delta, bias, done) = (0x80, 0, 72, basicCount)
        while done < scalars.count {
            let next = scalars.lazy.map { Int($0.value) }.filter { $0 >= bound }.min() ?? bound
            delta += (next - bound) * (done + 1)
            bound = next
            for scalar in scalars {
                if scalar.value < bound { delta += 1 }
                guard scalar.value == bound else { continue }
                append(delta, bias, to: &output)
                bias = adapted(delta, done + 1, isFirst: done == basicCount)
                (delta, done) = (0, done + 1)
            }
            delta += 1
            bound += 1
        }
        return String(output)
    }

    /// Appends a number, in digits whose base is 36 and whose thresholds depend on the bias.
    private static func append(_ number: Int, _ bias: Int, to output: inout [Character]) {
        var (rest, place) = (number, 36)
        while true {
            let threshold = min(max(place - bias, 1), 26)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            place += 36
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: Int) -> Character {
        Character(Unicode.Scalar(UInt8(value < 26 ? value + 0x61 : value - 26 + 0x30)))
    }

    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var bias = 0
        while delta > 455 {
            delta /= 35
            bias += 36
        }
        return bias + 36 * delta / (delta + 38)
    }
}
